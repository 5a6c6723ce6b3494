# verdict: wrong answer
# diagnosis: a tuple came back; a plan is a dict
_right = best_plan


def best_plan(workload, machine, budget):
    return tuple(_right(workload, machine, budget).values())
