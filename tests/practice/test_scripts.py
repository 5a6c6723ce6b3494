"""Scripts: objects that stay in the worker, tensors both ways, and the mistake named."""

from __future__ import annotations

import os

import msgpack
import pytest
import torch
import toy

from grader import check as gate
from grader import session, wire
from grader.checks import Refusal
from grader.faults import Raised
from grader.runner import Workers, judge


@pytest.fixture(scope="module")
def problem(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        yield toy.install(tmp_path_factory.mktemp("toy"), patch)


@pytest.fixture(scope="module")
def workers(problem):
    with Workers(problem) as kept:
        yield kept


@pytest.fixture
def see(problem, workers):
    return lambda source: judge(problem, source.encode(), "mine.py", seed=1, workers=workers)


def changed(call: str, init: str = "self.graph = capture(step, *[e.clone() for e in examples])") -> str:
    """A captured step that is right but for how it is called."""
    return f"""
import torch
from mini_llm.graphs import capture

class CapturedStep:
    def __init__(self, step, *examples):
        self.buffers = [e.clone() for e in examples]
        self.graph = capture(step, *self.buffers)

    def __call__(self, x):
        if x.shape != self.buffers[0].shape:
            raise ValueError(f"captured with shape {{list(self.buffers[0].shape)}}, called with {{list(x.shape)}}")
        self.buffers[0].copy_(x)
        {call}
"""


def test_a_right_one_is_accepted(see):
    result = see(changed("return self.graph.replay().clone()"))
    assert result.accepted, result.first_failure.message
    assert result.device in ("cpu", "cuda") and result.as_json()["device"] == result.device


def test_a_judgement_may_stop_at_the_first_failure(problem, workers):
    source = changed("return self.graph.replay()[:2].clone()").encode()
    whole = judge(problem, source, "mine.py", workers=workers)
    assert [t.outcome for t in whole.tests] == ["wrong answer", "wrong answer", "passed"]
    short = judge(problem, source, "mine.py", workers=workers, stop=True)
    assert [t.outcome for t in short.tests] == ["wrong answer", "not run", "not run"]
    assert short.verdict == "wrong answer" and not short.accepted


def test_the_gate_is_good(problem):
    class Console:
        def print(self, text):
            print(text)

    assert gate.run([problem], 1, None, Console())


def test_a_failing_script_shows_its_lines_and_names_the_mistake(see):
    result = see(toy.mutant("forgets_to_copy"))
    failure = result.first_failure
    assert result.verdict == "wrong answer"
    assert failure.call.splitlines()[:2] == [
        "scaled = scaled()",
        "captured_step = CapturedStep(scaled, tensor([0., 0., 0.]))",
    ]
    assert failure.diagnosis == "the inputs were not copied in"
    assert "3 of 3 numbers differ, the first at [0]" in failure.why
    assert failure.got == "tensor([0., 0., 0.])"


BROKEN = {
    "another type": ("return self.graph.replay().clone().double()", "wrong answer", "the dtype differs"),
    "another shape": ("return self.graph.replay().clone()[None]", "wrong answer", "the shape differs"),
    "nan": ("return self.graph.replay() * float('nan')", "wrong answer", "numbers differ"),
    "half precision": ("return self.graph.replay().half().to(x.dtype) + 1e-3", "wrong answer", "numbers differ"),
    "a parameter": ("return torch.nn.Parameter(self.graph.replay())", "wrong answer", "torch.nn.parameter.Parameter"),
    "a sparse tensor": ("return self.graph.replay().to_sparse()", "wrong answer", "layout torch.sparse_coo"),
    "a meta tensor": ("return self.graph.replay().to('meta')", "wrong answer", "device meta"),
    "too many dimensions": ("return x.reshape(*[1] * 16, 3)", "wrong answer", "17 dimensions"),
    "a number": ("return 3", "wrong answer", "a torch.Tensor was expected, not an int"),
    "too large": ("return torch.zeros(9 << 20)", "wrong answer", "bytes"),
    "out of memory": ("return torch.zeros(1 << 40)", "memory", "MiB of memory"),
    "an exit": ("raise SystemExit(0)", "error", "raised SystemExit"),
    "an end": ("import os; os._exit(0)", "crashed", "exit code 0"),
}


@pytest.mark.parametrize("call, verdict, words", BROKEN.values(), ids=BROKEN.keys())
def test_what_is_no_answer_is_said(see, call, verdict, words):
    result = see(changed(call))
    assert result.verdict == verdict
    assert words in result.first_failure.why, result.first_failure.message


def test_an_error_that_names_nothing_is_no_refusal(see):
    source = (
        changed("return self.graph.replay().clone()")
        .replace("captured with shape", "no {0 and")
        .replace("called with {list(x.shape)}", "}")
    )
    result = see(source.replace('f"no {0 and {list(self.buffers[0].shape)}, }"', '"no"'))
    assert [t.outcome for t in result.tests] == ["passed", "passed", "wrong answer"]
    assert result.first_failure.why == "the error does not name 4"


def test_only_the_words_that_are_missing_are_named(problem, see):
    hidden = problem.folder / "test_hidden.py"
    text = hidden.read_text(encoding="utf-8")
    hidden.write_text(text.replace('words=["4"]', 'words=["not this", "4", "nor that"]'), encoding="utf-8")
    try:
        result = see(changed("return self.graph.replay().clone()"))
    finally:
        hidden.write_text(text, encoding="utf-8")
    assert result.first_failure.why == "the error does not name not this or nor that"


def refusing(problem, see, source, **asked):
    """The test of refusals with something else asked for; what is shown of it, or None when it passed."""
    hidden = problem.folder / "test_hidden.py"
    text = hidden.read_text(encoding="utf-8")
    more = "".join(f", {name}={value!r}" for name, value in asked.items())
    assert text.count('words=["4"]') == 1
    hidden.write_text(text.replace('words=["4"]', more[2:]), encoding="utf-8")
    try:
        shown = see(source).tests[2]
    finally:
        hidden.write_text(text, encoding="utf-8")
    return None if shown.outcome == "passed" else shown


OTHER_TYPES = {
    "its name": ("ValueError", None),
    "a built-in subclass": ("UnicodeError", None),
    "a class of its own": ("Mine", None),
    "an Exception": ("Exception", "a ValueError was asked for, not an Exception"),
    "another": ("KeyError", "a ValueError was asked for, not a KeyError"),
    "an exit": ("SystemExit", "a ValueError was asked for, not a SystemExit"),
}


@pytest.mark.parametrize("raised, why", OTHER_TYPES.values(), ids=OTHER_TYPES.keys())
def test_the_type_of_an_error_is_looked_at_when_it_was_asked_for(problem, see, raised, why):
    source = changed("return self.graph.replay().clone()").replace("raise ValueError", f"raise {raised}")
    source = "class Mine(ValueError): pass\n" + source
    assert refusing(problem, see, source, words=["4"]) is None
    shown = refusing(problem, see, source, words=["4"], error="ValueError")
    assert shown is None if why is None else (shown.outcome, shown.why) == ("wrong answer", why)
    if why:
        assert shown.expected == "a ValueError that names 4"


def test_capital_letters_count_unless_they_are_said_not_to(problem, see):
    source = changed("return self.graph.replay().clone()")
    assert refusing(problem, see, source, words=["CAPTURED"]).why == "the error does not name CAPTURED"
    assert refusing(problem, see, source, words=["CAPTURED"], any_case=True) is None


def test_a_mistake_that_names_another_word_explains_only_who_names_it(problem, see):
    says = changed("return self.step(x)").replace("self.graph = capture(step, *self.buffers)", "self.step = step")
    named = refusing(problem, see, says, words=["size"])
    assert named.diagnosis == "the step ran again instead of its graph"  # whose error names no size either
    assert refusing(problem, see, says, words=["size"], instead=["called"]).diagnosis == ""
    assert refusing(problem, see, says, words=["size"], instead=["shape"]).diagnosis == named.diagnosis


def test_a_reused_child_forgets_and_is_given_up_when_it_dies(problem, monkeypatch):
    """As on a GPU, where one child serves all tests: another test sees a fresh module, a crash costs one test."""
    monkeypatch.setattr(session.Session, "reuses", property(lambda self: True))
    counting = "COUNT = []\n" + changed("COUNT.append(1); return self.graph.replay().clone()").replace(
        "self.buffers = [", "assert not COUNT or len(COUNT) in (2,); self.buffers = ["
    )
    with Workers(problem) as kept:
        result = judge(problem, counting.encode(), "mine.py", workers=kept)
        assert result.accepted, result.first_failure.message
        assert kept.session._kept is not None  # one child served all three
        dies = changed(
            "import os; os._exit(3) if x.dtype == torch.bfloat16 else None; return self.graph.replay().clone()"
        )
        result = judge(problem, dies.encode(), "mine.py", workers=kept)
        assert [t.outcome for t in result.tests] == ["crashed", "passed", "passed"]


def test_a_reused_child_is_watched(problem, monkeypatch):
    """Where no limit of the system bounds a child's memory, the judge looks."""
    monkeypatch.setattr(session.Session, "reuses", property(lambda self: True))
    monkeypatch.setattr(session.Session, "look", lambda self, child: (5 << 30, 0))
    source = changed("import time; time.sleep(1); return self.graph.replay().clone()")
    result = judge(problem, source.encode(), "mine.py")
    assert result.verdict == "memory"
    assert "4096 MiB" in result.first_failure.why


def test_the_worker_says_what_a_child_holds(problem):
    with session.Session(problem, b"", "mine.py") as running:
        child, channel, out = running.fork()
        resident, written = running.look(child)
        assert resident > 1 << 20 and written < 1 << 20
        running.keep(child, channel, out)
        running.give_up_kept()
        assert not os.path.exists(f"/proc/{child['pid']}/statm") or "bubblewrap" in running.sandbox


def test_an_error_without_the_words_is_not_taken_for_one_with_them(see):
    """A mutant that refuses rightly is not what a learner did whose error says nothing."""
    names_nothing = changed("return self.step(x)").replace(
        "self.graph = capture(step, *self.buffers)", "self.step = step"
    )
    result = see(names_nothing.replace("{list(self.buffers[0].shape)}", "").replace("{list(x.shape)}", ""))
    assert result.tests[2].why == "the error does not name 4"
    assert result.tests[2].diagnosis == ""


def test_only_as_many_failures_are_diagnosed_as_asked(problem, workers):
    for wanted in (0, 1, None):
        result = judge(problem, toy.mutant("runs_eagerly").encode(), "mine.py", workers=workers, diagnoses=wanted)
        named = [bool(t.diagnosis) for t in result.tests if t.outcome != "passed"]
        assert named == [wanted is None or i < wanted for i in range(2)]


def test_what_the_learner_wrote_is_what_the_package_calls(see):
    """As in the workspace: a bare file's functions stand where the stubs stood."""
    mine = "assert graphs.CapturedStep is CapturedStep; return self.graph.replay().clone()"
    result = see("from mini_llm import graphs\n" + changed(mine))
    assert result.accepted, result.first_failure.message


def test_a_mistake_is_named_when_its_answer_is_an_object_of_the_files_own(see):
    """A type that the file defines goes by another module's name in each worker."""
    mine = changed("return Answer()").replace("class CapturedStep", "class Answer:\n    pass\n\nclass CapturedStep")
    assert see(mine).first_failure.diagnosis == "the answer came in an object of its own"


def test_the_numbers_cross_however_they_lie_in_memory(monkeypatch):
    monkeypatch.setattr(wire, "_torch", None)
    wire.carry_tensors()
    numbers = torch.arange(12.0).view(3, 4)
    for x in (
        numbers.t(),
        numbers[:, 1::2],
        numbers[:1, 2],  # one element with a stride of four
        numbers[1, 1],
        numbers[0].expand(2, 4),
        torch._neg_view(numbers),
        numbers.bfloat16()[1:, 1:],
        numbers.clone().requires_grad_() * 2,
        numbers[:0],
    ):
        came = wire.decode(msgpack.packb(wire.encode(x)))
        assert torch.equal(came, x.detach()) and came.dtype == x.dtype


def test_an_error_that_names_everything_names_nothing():
    refusal = Refusal(("input 2",), never=("input 0", "input 1"))
    assert refusal.wrong(Raised("", trace="ValueError: input 2 is [4]", kind="ValueError")) is None
    all_of_them = Raised("", trace="ValueError: input 0 is [3]; input 2 is [4]", kind="ValueError")
    assert "names input 0 too, which is right" in refusal.wrong(all_of_them)
