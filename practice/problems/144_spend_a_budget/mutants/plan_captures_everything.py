# verdict: wrong answer
# diagnosis: every size was captured in both modes: fewer requests run for it, and graphs that no step needs save nothing
_right = best_plan


def _counts(workload, machine):
    each = [(r, -(-c // machine["block_size"])) for r, _, c, _ in workload]
    least = max(1 + blocks for _, blocks in each)
    return sorted({n for r, blocks in each for n in range(1 + blocks, 2 + r * blocks, blocks) if n >= least})


def best_plan(workload, machine, budget):
    plan = {"full": list(machine["sizes"]), "piecewise": list(machine["sizes"]), "blocks": 0}
    left = budget - plan_memory(plan, machine)
    plan["blocks"] = max((n for n in _counts(workload, machine) if n * machine["block_mib"] <= left), default=0)
    return plan
