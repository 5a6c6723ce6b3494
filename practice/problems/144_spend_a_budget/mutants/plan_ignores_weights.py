# verdict: wrong answer
# diagnosis: each demand counted once; the one that generates most tokens decides most
_right = best_plan


def best_plan(workload, machine, budget):
    return _right([(*demand[:3], 1) for demand in workload], machine, budget)
