# verdict: wrong answer
# diagnosis: blocks for as many requests as possible came first, and graphs got what was left; a graph may save more than one request more
_right = best_plan


def _graphs(workload, machine, budget, blocks):
    """The right graphs beside so many blocks."""
    counted = [(min(r, (blocks - 1) // -(-c // machine["block_size"])), p, 1, wt) for r, p, c, wt in workload]
    counted = [(n, p, machine["block_size"], wt) for n, p, _, wt in counted]
    plan = _right(counted, machine | {"block_mib": 0.0}, budget - blocks * machine["block_mib"])
    return plan | {"blocks": blocks}


def _counts(workload, machine):
    each = [(r, -(-c // machine["block_size"])) for r, _, c, _ in workload]
    least = max(1 + blocks for _, blocks in each)
    return sorted({n for r, blocks in each for n in range(1 + blocks, 2 + r * blocks, blocks) if n >= least})


def best_plan(workload, machine, budget):
    blocks = max(n for n in _counts(workload, machine) if n * machine["block_mib"] <= budget)
    return _graphs(workload, machine, budget, blocks)
