"""The examples of the statement."""

import oracle

WORKLOAD = [(16, 0, 800, 70), (12, 100, 500, 30)]
PLAN = {"full": [8], "piecewise": [128], "blocks": 401}


def test_plan_memory_example(check):
    """The example of the statement."""
    check.each("plan_memory", [(PLAN, oracle.H200)], oracle.plan_memory, tolerance=1e-9)


def test_plan_cost_example(check):
    """The example of the statement."""
    check.each("plan_cost", [(PLAN, WORKLOAD, oracle.H200)], oracle.plan_cost, tolerance=1e-9)


def test_best_plan_example(check):
    """The example of the statement, and one with another budget."""
    cases = [(WORKLOAD, oracle.H200, budget) for budget in (800.0, 500.0)]
    check.each("best_plan", cases, oracle.best_plan, accept=oracle.judge_plan)
