# verdict: wrong answer
# diagnosis: the plan was made without all that graphs take, their pool included: it takes more than the budget
_right = best_plan


def best_plan(workload, machine, budget):
    return _right(workload, machine | {"row_mib": 0.0}, budget)
