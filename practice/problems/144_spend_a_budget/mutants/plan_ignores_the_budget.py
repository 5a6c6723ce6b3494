# verdict: wrong answer
# diagnosis: the budget makes no difference: the plan takes more
_right = best_plan


def best_plan(workload, machine, budget):
    return _right(workload, machine, 1e9)
