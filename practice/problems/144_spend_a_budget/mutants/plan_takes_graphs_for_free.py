# verdict: wrong answer
# diagnosis: the plan was made as if graphs took no memory: it takes more than the budget
_right = best_plan


def best_plan(workload, machine, budget):
    return _right(workload, machine | {"full_mib": 0.0, "piecewise_mib": 0.0}, budget)
