"""What a problem's tests are written with.

A hidden test draws its inputs and hands them over with an oracle:

    def test_pad_to_between_sizes(check, rng):
        '''A batch between two sizes runs in the larger one.'''
        check.each("pad_to", [(bs, sizes), ...], oracle.pad_to)

All inputs are tried, the shortest one that fails is shown, and the answers to all of them decide which known
mistake this is. The docstring is the property: it is what the learner reads, so it says the rule, not the test.
Where several answers are right, `accept=` judges each of them, and the oracle's is shown as one that would do. Where
arguments or answers cannot cross (enums, say), `scene=True` calls the function of `scene.py` with that name, which
asks the learner's code and answers in plain values.

What has a life of its own (a captured step, a graph runner) is tested by a script. Each line runs at once in the
worker; objects stay there and go by handles; `scene.py` makes what the learner's code needs to be given:

    def test_captured_step_reads_its_buffers(check, rng):
        '''Each replay reads what is in the buffers now.'''
        script = check.script()
        step = script.scene("double_step")              # double_step = double_step()
        captured = script.make("CapturedStep", step, x)  # captured_step = CapturedStep(double_step, tensor(...))
        script.ask(captured, "replay", y, want=2 * y)            # captured_step.replay(tensor(...))

A script that fails shows its lines up to there, and is replayed against the known mistakes.
"""

from __future__ import annotations

import builtins
import copy
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from grader.compare import call_text, difference, short
from grader.faults import ChangedArguments, Crashed, Fault, NotAnAnswer, OutOfMemory, Raised, TookTooLong
from grader.solution import Solution
from grader.wire import Handle

STUB = "NotImplementedError: grown in chapter"  # what the stubs of the workspace raise
LARGE = 1 << 16  # bytes of an answer: beside a failing one the next is not asked for, since all are kept
ENOUGH = 2.0  # seconds after which a failing test looks for no shorter input
NO_WARNING = "no warning of the call"
NEEDLESS = "the call warned, and there was nothing to warn of"
CONTROL = "Ordinary inputs must be right too."
TYPE = "The answer must be of a type that can be compared."
KEPT = "The arguments belong to the caller: they stay as they are."
PRINTS = "the function prints its answer and returns None; a print is for people, `return` hands the value on"


@dataclass(frozen=True)
class Refusal:
    """What a script wants of a call that must raise: an error of this type, whose last line holds these words."""

    words: tuple[str, ...]
    error: str | None = None  # the name of a built-in type; None: any error
    any_case: bool = False
    instead: tuple[str, ...] = ()  # words of another error: whoever names one of them has taken this one for that
    never: tuple[str, ...] = ()  # of what is right: an error that names everything names nothing

    @property
    def text(self) -> str:
        return f"{_a(self.error or 'error')}{' that names ' if self.words else ''}{' and '.join(self.words)}"

    def wrong(self, fault: Fault) -> str | None:
        """None when this error is the one; otherwise what is wrong with it, in words."""
        if self.error and not self._is_one(fault.kind):
            return f"{_a(self.error)} was asked for, not {_a(fault.kind)}"
        found = self._found(self.words, fault)
        missing = [word for word in self.words if word not in found]
        if missing:
            return f"the error does not name {' or '.join(missing)}"
        needless = self._found(self.never, fault)
        return f"the error names {' and '.join(needless)} too, which is right" if needless else None

    def alike(self, one: Fault, other: Fault) -> bool:
        """Whether both are right, or both wrong, and both say the same of what should not be there."""
        others = (*self.instead, *self.never)
        same = self._found(others, one) == self._found(others, other)
        return same and (self.wrong(one) is None) == (self.wrong(other) is None)

    def _found(self, words: tuple[str, ...], fault: Fault) -> list[str]:
        said = last_line(fault.trace)
        return [word for word in words if word in said or (self.any_case and word.lower() in said.lower())]

    def _is_one(self, kind: str) -> bool:
        """By the name, which is all that comes from the worker: a class of the learner's own may derive from it."""
        raised = getattr(builtins, kind, None)
        return not isinstance(raised, type) or issubclass(raised, getattr(builtins, self.error))


@dataclass(frozen=True)
class Call:
    """One call, what was wanted, and what came of it, as the judge saw it."""

    name: str
    args: tuple
    kwargs: dict
    want: object = None
    tolerance: float | None = None
    control: bool = False  # an ordinary input beside those that the property is about
    answer: object = None
    warned: tuple[str, ...] = ()
    fault: Fault | None = None
    printed: str = ""
    why: str | None = None  # what is wrong with it, None when nothing is
    op: str = "each"  # of a script: 'call', 'scene' or 'method'
    target: Handle | None = None
    keep: Handle | None = None
    accept: Callable[..., str | None] | None = None  # judges an answer where several are right

    def wrong(self, answer: object) -> str | None:
        """None when this answer is right; otherwise what is wrong with it, in words."""
        if self.accept is None:
            return difference(answer, self.want, self.tolerance)
        return self.accept(answer, *copy.deepcopy(self.args), **copy.deepcopy(self.kwargs))

    @property
    def text(self) -> str:
        """The call as one would type it."""
        name = f"{self.target.name}{'.' if self.name else ''}{self.name}" if self.target else self.name
        text = call_text(name, self.args, self.kwargs)
        return f"{self.keep.name} = {text}" if self.keep else text


class Failed(Exception):
    """A test's property does not hold. `verdict` is the contract's word; the rest is for the report."""

    def __init__(self, verdict: str, why: str, **shown: str):
        super().__init__(why)
        self.verdict, self.why = verdict, why
        self.shown = shown  # call, expected, got, trace, diagnosis, share, rule, printed
        self.input: Call | None = None  # of a plain call: what somebody could call the function with by hand

    def at(self, call: Call) -> Failed:
        """The same failure, with the call that shows it."""
        self.input = call if call.op == "each" else None
        return self


class Keywords(dict):
    """Marks the keyword arguments in a case."""


class Check:
    """The `check` fixture. `solution` is the learner's; `diagnose` names a known mistake from a list of calls."""

    keywords = Keywords

    def __init__(
        self, solution: Solution, diagnose: Callable[[list[Call]], str], known: Callable[[str], str], seconds: float
    ):
        self._solution, self._diagnose, self._known = solution, diagnose, known
        self._seconds = seconds  # for all calls of one test together

    def each(
        self,
        name: str,
        cases: Sequence[tuple],
        oracle: Callable,
        *,
        controls: Sequence[tuple] = (),
        tolerance: float | None = None,
        slow: str | None = None,
        warns: Callable[..., list[str]] | None = None,
        accept: Callable[..., str | None] | None = None,
        scene: bool = False,
    ) -> None:
        """Every case's answer must be the oracle's, or one that `accept(answer, *args)` finds nothing wrong with.

        A case is a tuple of arguments; keywords come last, as `check.keywords(query_len=2)`. `controls` are inputs
        that an idle answer gets wrong and that are not what the property is about. `slow` is what a timeout probably
        means: a sentence, or the name of the mutant that has it. `warns` gives the texts that one warning of the call
        must hold; none: it must not warn. `accept` gives None, or what is wrong with the answer, in words: it gets
        whatever came, of any type. With `scene`, `name` is a function of scene.py, which gets the learner's module
        first.
        """
        calls: list[Call] = []
        started = time.monotonic()
        late = self._known(slow) if slow else ""
        for case, control in [*((c, False) for c in cases), *((c, True) for c in controls)]:
            args, kwargs = (case[:-1], dict(case[-1])) if case and isinstance(case[-1], Keywords) else (case, {})
            want = oracle(*copy.deepcopy(args), **copy.deepcopy(kwargs))
            op = "scene" if scene else "each"
            asked = Call(name, args, kwargs, want, tolerance, control, op=op, accept=accept)
            try:
                calls.append(self._ask(asked, warns))
            except (TookTooLong, Crashed) as fault:
                if fault.at_import:
                    raise
                about = {"call": asked.text, "expected": short(want), "trace": fault.trace}
                about["diagnosis"] = late if isinstance(fault, TookTooLong) else ""
                raise Failed(fault.verdict, str(fault), **about).at(asked) from None
            spent = time.monotonic() - started
            if any(c.why for c in calls) and (spent > ENOUGH or self._solution.reply_bytes > LARGE):
                break
            if spent > self._seconds:
                self._solution.ran_out_of_time()
                why = f"the calls of this test took more than {self._seconds:g} s together"
                raise Failed("timeout", why, call=asked.text, diagnosis=late).at(asked)
        if failing := [c for c in calls if c.why]:
            raise self._failed(calls, failing)

    def _ask(self, asked: Call, warns: Callable[..., list[str]] | None) -> Call:
        """The call with what came of it. Raises the faults that every input would meet, and those that end a test."""
        try:
            if asked.op == "each":
                answer = getattr(self._solution, asked.name)(*asked.args, **asked.kwargs)
            else:
                answer = self._solution.run(asked.op, None, asked.name, list(asked.args), asked.kwargs)
        except (Raised, NotAnAnswer, ChangedArguments, OutOfMemory) as fault:
            if fault.at_import or fault.kind == "missing" or STUB in fault.trace:
                raise
            made = replace(asked, fault=fault, why=str(fault), printed=self._solution.take_printed())
            if isinstance(fault, OutOfMemory):  # one is enough: the next may cost the machine as much
                raise self._failed([made], [made]) from None
            return made
        warned = tuple(self._solution.warned)
        why = asked.wrong(answer)
        if why is None and warns:
            needed = warns(*asked.args, **asked.kwargs)
            if needed and not _warned(needed, warned):
                why = f"{NO_WARNING} names {' and '.join(needed)}"
            elif warned and not needed:
                why = NEEDLESS
        return replace(asked, answer=answer, warned=warned, why=why, printed=self._solution.take_printed())

    def script(self) -> Script:
        """Calls that build on each other; see above."""
        return Script(self._solution, self._diagnose)

    def _failed(self, calls: list[Call], failing: list[Call]) -> Failed:
        """The report of the shortest failing input, one that the property is about if there is any."""
        shown = min(failing, key=lambda c: (c.control, len(c.text)))
        about = {"call": shown.text, "expected": short(shown.want), "printed": shown.printed}
        if shown.accept is not None:
            about["expected"] += ", or another right answer"
        if len(calls) > 1:
            about["share"] = f"{len(failing)} of {len(calls)} inputs fail; this is the shortest"
        if shown.control:
            about["rule"] = CONTROL
        if all(c.fault is None and c.answer is None and c.want is not None and c.printed for c in failing):
            about["diagnosis"] = PRINTS
        else:
            about["diagnosis"] = self._diagnose(calls)
        if type(shown.fault) in (NotAnAnswer, ChangedArguments):  # the property itself was not looked at
            about["rule"] = TYPE if type(shown.fault) is NotAnAnswer else KEPT
        if shown.fault is not None:
            return Failed(shown.fault.verdict, shown.why, trace=shown.fault.trace, **about).at(shown)
        about["got"] = short(shown.answer)
        if shown.why.startswith(NO_WARNING):
            about["expected"] += " and a warning"
            about["got"] += f" and {list(shown.warned) or 'no warning'}"
        if shown.why == NEEDLESS:
            about["got"] += f" and the warning {shown.warned[0]!r}"
        return Failed("wrong answer", shown.why, **about).at(shown)


class Script:
    """Lines that run one after another in the worker; the first one that is wrong ends the test.

    Arguments are plain values, tensors and handles. Handles are named after what made them, as a report shows them.
    """

    def __init__(self, solution: Solution, diagnose: Callable[[list[Call]], str]):
        self._solution, self._diagnose = solution, diagnose
        self._calls: list[Call] = []
        self._names: dict[str, int] = {}

    def scene(self, name: str, *args: object, as_: str | None = None, **kwargs: object) -> Handle:
        """What the function `name` of scene.py makes, kept in the worker. It gets the learner's module first."""
        return self._keep("scene", None, name, args, kwargs, as_)

    def make(self, name: str, *args: object, as_: str | None = None, **kwargs: object) -> Handle:
        """What the learner's class or function `name` makes, kept in the worker."""
        return self._keep("call", None, name, args, kwargs, as_)

    def keep(self, target: Handle, name: str, *args: object, as_: str | None = None, **kwargs: object) -> Handle:
        """What a method of a kept object returns, kept too. A name of '' calls the object itself."""
        return self._keep("method", target, name, args, kwargs, as_)

    def ask(
        self, target: Handle, name: str, *args: object, want: object, tolerance: float | None = None, **kwargs: object
    ) -> None:
        """A method's answer must be `want`; of tensors each number within `tolerance`, exactly without one."""
        self._compare("method", target, name, args, kwargs, want, tolerance)

    def ask_call(
        self, name: str, *args: object, want: object, tolerance: float | None = None, **kwargs: object
    ) -> None:
        """The answer of the learner's function `name` must be `want`."""
        self._compare("call", None, name, args, kwargs, want, tolerance)

    def ask_scene(
        self, name: str, *args: object, want: object, tolerance: float | None = None, **kwargs: object
    ) -> None:
        """What a function of scene.py finds out about the objects it is given must be `want`."""
        self._compare("scene", None, name, args, kwargs, want, tolerance)

    def refuses(
        self,
        target: Handle | None,
        name: str,
        *args: object,
        words: Sequence[str],
        error: str | None = None,
        any_case: bool = False,
        instead: Sequence[str] = (),
        never: Sequence[str] = (),
        **kwargs: object,
    ) -> None:
        """The method (the learner's function, without a target) must raise an error whose text holds all `words`, and
        none of `never`.

        `error` is the name of a built-in type that it must have; a class that the learner derived from it will do.
        With `any_case` small and capital letters are alike. `instead` are words of another error: a known mistake
        that names one of them explains only an error that names it too.
        """
        op = "method" if target else "call"
        refusal = Refusal(tuple(words), error, any_case, tuple(instead), tuple(never))
        asked = Call(name, args, kwargs, refusal, op=op, target=target)
        wanted = refusal.text
        try:
            answer = self._solution.run(op, target, name, list(args), kwargs)
        except Raised as fault:
            if fault.at_import or fault.kind == "missing" or STUB in fault.trace:
                raise
            self._add(asked, wanted, fault=fault, why=refusal.wrong(fault), got=last_line(fault.trace))
        except NotAnAnswer as fault:
            self._add(asked, wanted, fault=fault, why="it was not refused")
        else:
            self._add(asked, wanted, answer=answer, why="it was not refused", got=short(answer))

    def _keep(self, op: str, target: Handle | None, name: str, args: tuple, kwargs: dict, as_: str | None) -> Handle:
        label = as_ or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower() or "result"
        self._names[label] = self._names.get(label, 0) + 1
        handle = self._solution.handle(label if self._names[label] == 1 else f"{label}_{self._names[label]}")
        self._run(Call(name, args, kwargs, op=op, target=target, keep=handle), "no error")
        return handle

    def _compare(
        self,
        op: str,
        target: Handle | None,
        name: str,
        args: tuple,
        kwargs: dict,
        want: object,
        tolerance: float | None,
    ) -> None:
        asked = Call(name, args, kwargs, want, tolerance, op=op, target=target)
        answer = self._run(asked, short(want))
        self._add(asked, short(want), answer=answer, why=difference(answer, want, tolerance), got=short(answer))

    def _run(self, asked: Call, wanted: str) -> object:
        try:
            answer = self._solution.run(asked.op, asked.target, asked.name, list(asked.args), asked.kwargs, asked.keep)
        except (TookTooLong, Crashed) as fault:
            if fault.at_import:
                raise
            late = isinstance(fault, TookTooLong)
            said = self._diagnose([*self._calls, replace(asked, fault=fault, why=str(fault))]) if late else ""
            about = {"call": self._text(asked), "expected": wanted, "trace": fault.trace, "diagnosis": said}
            raise Failed(fault.verdict, str(fault), **about) from None
        except (Raised, NotAnAnswer, OutOfMemory) as fault:
            if fault.at_import or STUB in fault.trace or (fault.kind == "missing" and asked.op != "method"):
                raise
            self._add(asked, wanted, fault=fault, why=str(fault))
        if asked.keep is not None:
            self._calls.append(asked)
        return answer

    def _add(
        self,
        asked: Call,
        wanted: str,
        *,
        answer: object = None,
        fault: Fault | None = None,
        why: str | None,
        got: str = "",
    ) -> None:
        """Keeps a line; raises Failed when it is wrong."""
        warned = tuple(self._solution.warned) if fault is None else ()
        made = replace(asked, answer=answer, fault=fault, why=why, warned=warned)
        self._calls.append(made)
        if why is None:
            return
        about = {"call": self._text(), "expected": wanted, "got": got, "printed": self._solution.take_printed()}
        about["diagnosis"] = self._diagnose(self._calls)
        if fault is not None:
            raise Failed(fault.verdict if not got else "wrong answer", why, trace=fault.trace, **about) from None
        raise Failed("wrong answer", why, **about)

    def _text(self, *more: Call) -> str:
        return "\n".join(call.text for call in (*self._calls, *more))


def last_line(trace: str) -> str:
    """The error itself: its type and its message."""
    return trace.rsplit("\n", 1)[-1]


def _a(word: str) -> str:
    return f"{'an' if word[:1].lower() in 'aeiou' else 'a'} {word}"


def _warned(needed: list[str], texts: Sequence[str]) -> bool:
    return any(all(re.search(rf"(?<!\d){re.escape(n)}(?!\d)", text) for n in needed) for text in texts)
