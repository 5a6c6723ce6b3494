"""Every problem: the gate for its authors is good, and right answers written in another style are accepted."""

from __future__ import annotations

from pathlib import Path

import pytest
from judging import judge, run

from grader import problems

OTHERS = sorted((Path(__file__).parent / "accepted").glob("*.py"))


@pytest.mark.slow
def test_every_problem_passes_its_gate():
    done = run("check", timeout=1200)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: path.stem)
def test_another_right_answer_is_accepted(path):
    problem = problems.get(path.stem)
    if problem.lacks:
        pytest.skip(problem.lacks)
    report = judge(problem.id, path)
    assert report["verdict"] == "accepted", [t["message"] for t in report["tests"] if t["message"]][:1]
