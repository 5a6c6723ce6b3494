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


def test_every_problem_is_whole():
    """What a learner reads of it is there, in both languages, and the text names what is to be written."""
    for problem in problems.load_all().values():
        for section in ("Statement", "题目", "Explanation"):
            assert problem.section(section), f"{problem.slug} has no section {section}"
        assert len(problem.hints) >= 3, f"{problem.slug} has {len(problem.hints)} hints"
        assert len(list((problem.folder / "mutants").glob("*.py"))) >= 8, f"{problem.slug} has too few mutants"
        for part in problem.parts:
            assert f"`{part}" in problem.section("Statement"), f"the statement of {problem.slug} does not name {part}"
            assert f"`{part}" in problem.section("题目"), f"the Chinese text of {problem.slug} does not name {part}"
        assert any("\u4e00" <= c <= "\u9fff" for c in problem.title_zh)
