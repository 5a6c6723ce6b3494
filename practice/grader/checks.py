"""What a problem's tests are written with.

A hidden test draws its inputs and hands them over with an oracle:

    def test_pad_to_between_sizes(check, rng):
        '''A batch between two sizes runs in the larger one.'''
        check.each("pad_to", [(bs, sizes), ...], oracle.pad_to)

All inputs are tried, the shortest one that fails is shown, and the answers to all of them decide which known
mistake this is. The docstring is the property: it is what the learner reads, so it says the rule, not the test.
"""

from __future__ import annotations

import copy
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from grader.compare import call_text, difference, short
from grader.faults import ChangedArguments, Fault, NotAnAnswer, OutOfMemory, Raised, TookTooLong
from grader.solution import Solution

STUB = "NotImplementedError: grown in chapter"  # what the stubs of the workspace raise
ENOUGH = 2.0  # seconds after which a failing test looks for no shorter input
NO_WARNING = "no warning of the call"
CONTROL = "Ordinary inputs must be right too."
PRINTS = "the function prints its answer and returns None; a print is for people, `return` hands the value on"


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

    @property
    def text(self) -> str:
        return call_text(self.name, self.args, self.kwargs)


class Failed(Exception):
    """A test's property does not hold. `verdict` is the contract's word; the rest is for the report."""

    def __init__(self, verdict: str, why: str, **shown: str):
        super().__init__(why)
        self.verdict, self.why = verdict, why
        self.shown = shown  # call, expected, got, trace, diagnosis, share, rule, printed


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
    ) -> None:
        """Every case's answer must be the oracle's.

        A case is a tuple of arguments; keywords come last, as `check.keywords(query_len=2)`. `controls` are inputs
        that an idle answer gets wrong and that are not what the property is about. `slow` is what a timeout
        probably means: a sentence, or the name of the mutant that has it. `warns` gives the texts that one warning
        of the call must hold.
        """
        calls: list[Call] = []
        started = time.monotonic()
        late = self._known(slow) if slow else ""
        for case, control in [*((c, False) for c in cases), *((c, True) for c in controls)]:
            args, kwargs = (case[:-1], dict(case[-1])) if case and isinstance(case[-1], Keywords) else (case, {})
            want = oracle(*copy.deepcopy(args), **copy.deepcopy(kwargs))
            asked = Call(name, args, kwargs, want, tolerance, control)
            try:
                calls.append(self._ask(asked, warns))
            except TookTooLong as fault:
                if fault.at_import:
                    raise
                raise Failed("timeout", str(fault), call=asked.text, expected=short(want), diagnosis=late) from None
            spent = time.monotonic() - started
            if spent > ENOUGH and any(c.why for c in calls):
                break
            if spent > self._seconds:
                why = f"the calls of this test took more than {self._seconds:g} s together"
                raise Failed("timeout", why, call=asked.text, diagnosis=late)
        if failing := [c for c in calls if c.why]:
            raise self._failed(calls, failing)

    def _ask(self, asked: Call, warns: Callable[..., list[str]] | None) -> Call:
        """The call with what came of it. Raises the faults that every input would meet, and those that end a test."""
        what = {"name": asked.name, "args": asked.args, "kwargs": asked.kwargs, "want": asked.want}
        what |= {"tolerance": asked.tolerance, "control": asked.control}
        try:
            answer = getattr(self._solution, asked.name)(*asked.args, **asked.kwargs)
        except (Raised, NotAnAnswer, ChangedArguments, OutOfMemory) as fault:
            if fault.at_import or fault.kind == "missing" or STUB in fault.trace:
                raise
            made = Call(**what, fault=fault, why=str(fault), printed=self._solution.take_printed())
            if isinstance(fault, OutOfMemory):  # one is enough: the next may cost the machine as much
                raise self._failed([made], [made]) from None
            return made
        warned = tuple(self._solution.warned)
        why = difference(answer, asked.want, asked.tolerance)
        if why is None and warns and not _warned(needed := warns(*asked.args, **asked.kwargs), warned):
            why = f"{NO_WARNING} names {' and '.join(needed)}"
        return Call(**what, answer=answer, warned=warned, why=why, printed=self._solution.take_printed())

    def _failed(self, calls: list[Call], failing: list[Call]) -> Failed:
        """The report of the shortest failing input, one that the property is about if there is any."""
        shown = min(failing, key=lambda c: (c.control, len(c.text)))
        about = {"call": shown.text, "expected": short(shown.want), "printed": shown.printed}
        if len(calls) > 1:
            about["share"] = f"{len(failing)} of {len(calls)} inputs fail; this is the shortest"
        if shown.control:
            about["rule"] = CONTROL
        if all(c.fault is None and c.answer is None and c.want is not None and c.printed for c in failing):
            about["diagnosis"] = PRINTS
        else:
            about["diagnosis"] = self._diagnose(calls)
        if shown.fault is not None:
            return Failed(shown.fault.verdict, shown.why, trace=shown.fault.trace, **about)
        about["got"] = short(shown.answer)
        if shown.why.startswith(NO_WARNING):
            about["expected"] += " and a warning"
            about["got"] += f" and {list(shown.warned) or 'no warning'}"
        return Failed("wrong answer", shown.why, **about)


def _warned(needed: list[str], texts: Sequence[str]) -> bool:
    return any(all(re.search(rf"(?<!\d){re.escape(n)}(?!\d)", text) for n in needed) for text in texts)
