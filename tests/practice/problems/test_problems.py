"""Right answers written in another style are accepted, problem by problem."""

from __future__ import annotations

from pathlib import Path

import pytest
from judging import judge

from grader import problems

OTHERS = sorted((Path(__file__).parent / "accepted").glob("*.py"))


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: path.stem)
def test_another_right_answer_is_accepted(path):
    problem = problems.get(path.stem)
    if problem.lacks:
        pytest.skip(problem.lacks)
    report = judge(problem.id, path)
    assert report["verdict"] == "accepted", [t["message"] for t in report["tests"] if t["message"]][:1]
