# verdict: wrong answer
# diagnosis: no graphs of pieces: every step with prompts runs eagerly
_right = best_plan


def best_plan(workload, machine, budget):
    return _right(workload, machine | {"piecewise_mib": 1e9}, budget)
