# verdict: wrong answer
# diagnosis: the plan runs few requests in short steps; more requests take longer and give more tokens: look at the time per token, and buy graphs and blocks together
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
    plans = []
    for blocks in _counts(workload, machine):
        if blocks * machine["block_mib"] <= budget:
            plan = _graphs(workload, machine, budget, blocks)
            steps = 0
            for requests, prompts, context, weight in workload:
                n = min(requests, (blocks - 1) // -(-context // machine["block_size"]))
                steps += weight * n * plan_cost(plan, [(requests, prompts, context, 1)], machine)
            plans.append((steps, plan))
    return min(plans, key=lambda found: found[0])[1]
