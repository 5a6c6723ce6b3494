# verdict: wrong answer
# diagnosis: a size was captured that is none of the machine's: round up to the next one that is
_right = best_plan


def best_plan(workload, machine, budget):
    plan = _right(workload, machine, budget)
    fit = [min(r, (plan["blocks"] - 1) // -(-c // machine["block_size"])) + p for r, p, c, _ in workload]
    exact = sorted({rows for rows in fit if rows <= max(plan["piecewise"] + plan["full"], default=0)})
    return plan | {"full": exact[: len(plan["full"])]}
