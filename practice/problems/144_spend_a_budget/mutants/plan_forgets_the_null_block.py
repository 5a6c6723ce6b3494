# verdict: wrong answer
# diagnosis: the blocks are one too few: block 0 is the null block, so one request less runs than was planned
_right = best_plan


def best_plan(workload, machine, budget):
    plan = _right(workload, machine, budget)
    return plan | {"blocks": plan["blocks"] - 1}
