# verdict: wrong answer
# diagnosis: the sizes are not in ascending order
_right = best_plan


def best_plan(workload, machine, budget):
    plan = _right(workload, machine, budget)
    full, pieces = plan["full"] or machine["sizes"][:1], plan["piecewise"]
    return plan | {"full": [*full, full[0]], "piecewise": pieces[::-1]}
