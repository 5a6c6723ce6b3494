"""`check.each` where several answers are right (`accept=`), and where a scene asks the learner's code (`scene=`)."""

from __future__ import annotations

import pytest

from grader import check as gate
from grader import diagnose, problems
from grader.faults import Raised
from grader.layers import SandboxError
from grader.runner import Workers, judge

FILES = {
    "problem.md": """---
id: 901
name: any_size
title: Any size that is large enough
title_zh: 够大就行
chapter: 3
level: easy
minutes: 5
needs: []
grows: {module: buckets.py, names: [pad_to]}
parts:
  pad_to: {tests: 2, points: 1}
limits: {import_s: 3, call_s: 5, memory_mib: 2048}
---
## Statement
Any size.
""",
    "scene.py": """
def padded(solution, bs, sizes):
    size = solution.pad_to(bs, sizes)
    return f"runs as {size}"
""",
    "oracle.py": """
def pad_to(bs, sizes):
    return max(sizes)

def padded(bs, sizes):
    return f"runs as {min(s for s in sizes if s >= bs)}"

def accept(size, bs, sizes):
    if type(size) is not int:
        return "a size is an int"
    return None if size in sizes and size >= bs else f"{size} is no size that {bs} fits into"
""",
    "test_hidden.py": '''
import oracle

CASES = [(3, [1, 4, 8]), (2, [1, 2, 4, 8]), (5, [6, 7])]

def test_pad_to_is_large_enough(check):
    """Any size that is large enough will do."""
    check.each("pad_to", CASES, oracle.pad_to, accept=oracle.accept)

def test_pad_to_through_a_scene(check):
    """The smallest one."""
    check.each("padded", CASES, oracle.padded, scene=True)
''',
    "test_examples.py": '''
import oracle

def test_pad_to_example(check):
    """An example."""
    check.each("padded", [(3, [1, 4])], oracle.padded, scene=True)
''',
    "mutants/skips_the_exact_size.py": '''# verdict: wrong answer
# diagnosis: a size that fits exactly was skipped
def pad_to(bs, sizes):
    return next((s for s in sizes if s > bs), None)
''',
    "mutants/takes_the_first.py": '''# verdict: wrong answer
# diagnosis: the first size was taken, large enough or not
def pad_to(bs, sizes):
    return sizes[0]
''',
    "mutants/raises.py": '''# verdict: error
# diagnosis: nothing came back but an error
def pad_to(bs, sizes):
    return sizes[99]
''',
}


@pytest.fixture(scope="module")
def problem(tmp_path_factory):
    place = tmp_path_factory.mktemp("each") / "901_any_size"
    (place / "mutants").mkdir(parents=True)
    for name, text in FILES.items():
        (place / name).write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(problems, "PROBLEMS", place.parent)
        patch.setattr(problems, "load_all", problems.load_all.__wrapped__)
        yield problems.get(901)


@pytest.fixture(scope="module")
def workers(problem):
    with Workers(problem) as kept:
        yield kept


@pytest.fixture
def see(problem, workers):
    return lambda body: judge(problem, f"def pad_to(bs, sizes): return {body}".encode(), "mine.py", workers=workers)


def test_the_gate_is_good(problem, capsys):
    class Console:
        def print(self, text):
            print(text)

    assert gate.run([problem], 1, None, Console()), capsys.readouterr().out


def test_every_accepted_answer_passes_and_the_oracles_is_shown_as_one_of_them(see):
    assert [t.outcome for t in see("max(sizes)").tests] == ["passed", "wrong answer"]
    first = see("sizes[0]").first_failure
    assert first.why == "1 is no size that 3 fits into"
    assert first.diagnosis == "the first size was taken, large enough or not"
    assert first.expected == "8, or another right answer" and "1 of 3" not in first.share
    assert see("min(sizes), bs").first_failure.why == "a size is an int"


def test_a_scenes_answer_is_compared_and_all_of_them_name_the_mistake(see):
    second = see("next(s for s in sizes if s > bs)").tests[1]
    assert (second.call, second.expected, second.got) == ("padded(2, [1, 2, 4, 8])", "'runs as 2'", "'runs as 4'")
    assert second.share.startswith("1 of 3") and second.diagnosis == "a size that fits exactly was skipped"
    assert see("[][0]").tests[1].outcome == "error"


def test_a_name_that_is_missing_behind_a_scene_is_named(problem, workers):
    failure = judge(problem, b"def pad(): pass", "mine.py", workers=workers).tests[1]
    assert failure.missing and failure.why == "mine.py defines no pad_to"


def test_workers_are_kept_only_for_a_file_that_imports_the_same(problem, workers):
    """What a file imports at its top the worker has imported once; each child would do it anew otherwise."""
    first = workers.take(b"def pad(): pass", "mine.py", None)
    assert workers.take(b"def pad(): return 1", "mine.py", None) is first
    second = workers.take(b"import numpy\ndef pad(): return 1", "mine.py", None)
    assert second is not first and second.preload == ["numpy"]


WRONG = b"def pad_to(bs, sizes): return sizes[0]"


def test_mistakes_are_named_again_after_the_mutants_had_their_troubles(problem, workers):
    def named() -> str:
        return judge(problem, WRONG, "mine.py", workers=workers).tests[0].diagnosis

    before = named()
    session = workers.diagnosis._session
    session.timeouts = 99
    assert before and named() == before
    session.broken = Raised("gone")
    assert named() == before and workers.diagnosis._session is not session


def test_without_a_worker_for_the_mutants_the_verdict_stands(problem, monkeypatch):
    def refused(*_args, **_options):
        raise SandboxError("none")

    monkeypatch.setattr(diagnose, "Session", refused)
    judgement = judge(problem, WRONG, "mine.py")
    assert judgement.verdict == "wrong answer" and not judgement.tests[0].diagnosis
