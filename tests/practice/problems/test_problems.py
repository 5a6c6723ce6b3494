"""Right answers written in another style are accepted, problem by problem."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader import problems
from grader.runner import judge

OTHERS = sorted((Path(__file__).parent / "accepted").glob("*.py"))


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: path.stem)
def test_another_right_answer_is_accepted(path):
    problem = problems.get(path.stem)
    if problem.lacks:
        pytest.skip(problem.lacks)
    judgement = judge(problem, path.read_bytes(), path.name)
    assert judgement.accepted, judgement.first_failure.message
