# verdict: wrong answer
# diagnosis: the sizes fit the requests that want to run; the blocks let fewer run, and those are padded
_right = best_plan


def _counts(workload, machine):
    each = [(r, -(-c // machine["block_size"])) for r, _, c, _ in workload]
    least = max(1 + blocks for _, blocks in each)
    return sorted({n for r, blocks in each for n in range(1 + blocks, 2 + r * blocks, blocks) if n >= least})


def best_plan(workload, machine, budget):
    plan = _right(workload, machine | {"block_mib": 0.0}, budget / 2)
    left = budget - plan_memory(plan | {"blocks": 0}, machine)
    fit = [n for n in _counts(workload, machine) if n * machine["block_mib"] <= left]
    return plan | {"blocks": max(fit, default=0)}
