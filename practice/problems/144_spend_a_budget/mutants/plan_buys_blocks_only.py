# verdict: wrong answer
# diagnosis: all memory went into blocks: every step runs eagerly
_right = best_plan


def _counts(workload, machine):
    each = [(r, -(-c // machine["block_size"])) for r, _, c, _ in workload]
    least = max(1 + blocks for _, blocks in each)
    return sorted({n for r, blocks in each for n in range(1 + blocks, 2 + r * blocks, blocks) if n >= least})


def best_plan(workload, machine, budget):
    blocks = max(n for n in _counts(workload, machine) if n * machine["block_mib"] <= budget)
    return {"full": [], "piecewise": [], "blocks": blocks}
