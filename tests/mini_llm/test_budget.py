"""Spend a budget on graphs and blocks: the model of memory and time, and the best plan against every other one."""

import itertools
import random
import subprocess
import sys
from pathlib import Path

import pytest

from mini_llm.budget import best_plan, plan_cost, plan_memory

H200 = {
    "full_ms": 1.2, "piecewise_ms": 3.7, "eager_ms": 37.0, "row_ms": 0.005, "full_mib": 12.0, "piecewise_mib": 8.0,
    "row_mib": 0.6, "block_mib": 1.75, "block_size": 16, "sizes": [1, 2, 4, 8, 16, 32, 64, 128],
}  # fmt: skip
WORKLOAD = [(16, 0, 800, 70), (12, 100, 500, 30)]
ROOT = Path(__file__).resolve().parents[2]


def test_importing_budget_imports_no_torch():
    code = "import sys, mini_llm.budget; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


def test_what_a_plan_takes_and_what_its_tokens_cost():
    plan = {"full": [8], "piecewise": [128], "blocks": 401}
    assert plan_memory(plan, H200) == pytest.approx(12 + 8 + 128 * 0.6 + 401 * 1.75)
    # 400 blocks hold 8 requests of 50 blocks; of the others, all 12
    assert plan_cost(plan, WORKLOAD, H200) == pytest.approx((70 * 1.24 / 8 + 30 * 4.34 / 12) / 100)
    with pytest.raises(ValueError, match="50 blocks hold no request with a context of 800 tokens"):
        plan_cost(plan | {"blocks": 50}, WORKLOAD, H200)


def test_the_best_plan_is_as_good_as_any():
    rng = random.Random(1)
    for _ in range(3):
        machine = H200 | {"sizes": sorted(rng.sample(range(1, 40), 3)), "row_ms": rng.uniform(0.01, 0.2)}
        workload = [(rng.randint(1, 4), rng.choice((0, 0, 20)), rng.randint(20, 90), rng.randint(1, 9)) for _ in "ab"]
        budget = rng.uniform(40, 110)
        lists = [list(c) for n in range(4) for c in itertools.combinations(machine["sizes"], n)]
        least = 1 + max(-(-context // 16) for _, _, context, _ in workload)
        plans = (
            {"full": full, "piecewise": piecewise, "blocks": blocks}
            for full, piecewise, blocks in itertools.product(lists, lists, range(least, 30))
        )
        costs = [plan_cost(p, workload, machine) for p in plans if plan_memory(p, machine) <= budget]
        found = best_plan(workload, machine, budget)
        assert plan_memory(found, machine) <= budget
        assert plan_cost(found, workload, machine) == pytest.approx(min(costs))


def test_a_budget_for_no_request_is_refused():
    with pytest.raises(ValueError, match="80 MiB do not hold the blocks of one request of each demand"):
        best_plan(WORKLOAD, H200, 80)
