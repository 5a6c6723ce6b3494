"""What a problem's tests are written with.

A hidden test draws its inputs and hands them over with an oracle:

    def test_pad_to_between_sizes(check, rng):
        '''A batch between two sizes runs in the larger one.'''
        check.each("pad_to", [(bs, sizes), ...], oracle.pad_to)

All inputs are tried, the smallest one that fails is shown, and the answers to all of them decide which known
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


@dataclass(frozen=True)
class Call:
    """One call and what came of it, as the judge saw it."""

    name: str
    args: tuple
    kwargs: dict
    answer: object = None
    warned: tuple[str, ...] = ()
    fault: Fault | None = None

    @property
    def text(self) -> str:
        return call_text(self.name, self.args, self.kwargs)


class Failed(Exception):
    """A test's property does not hold. `verdict` is the contract's word; the rest is for the report."""

    def __init__(
        self,
        verdict: str,
        why: str,
        *,
        call: str = "",
        expected: str = "",
        got: str = "",
        trace: str = "",
        diagnosis: str = "",
        share: str = "",
    ):
        super().__init__(why)
        self.verdict, self.why, self.call, self.expected, self.got = verdict, why, call, expected, got
        self.trace, self.diagnosis, self.share = trace, diagnosis, share


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
        tolerance: float | None = None,
        slow: str | None = None,
        warns: Callable[..., list[str]] | None = None,
    ) -> None:
        """Every case's answer must be the oracle's.

        A case is a tuple of arguments; keywords come last, as `check.keywords(query_len=2)`. `slow` names the
        mutant whose diagnosis a timeout gets. `warns` gives the texts that one warning of the call must hold.
        """
        calls: list[Call] = []
        failures: list[Failed] = []
        started = time.monotonic()
        for case in cases:
            args, kwargs = (case[:-1], dict(case[-1])) if case and isinstance(case[-1], Keywords) else (case, {})
            want = oracle(*copy.deepcopy(args), **copy.deepcopy(kwargs))
            call = Call(name, args, kwargs)
            try:
                answer = getattr(self._solution, name)(*args, **kwargs)
            except (Raised, NotAnAnswer, ChangedArguments) as fault:
                if fault.at_import or fault.kind == "missing" or STUB in fault.trace:
                    raise  # every input would say the same
                calls.append(Call(name, args, kwargs, fault=fault))
                failures.append(self._faulty(fault, call, want))
                if time.monotonic() - started > ENOUGH:
                    break
                continue
            except TookTooLong as fault:
                if fault.at_import:
                    raise
                diagnosis = self._known(slow) if slow else ""
                raise Failed("timeout", str(fault), call=call.text, expected=short(want), diagnosis=diagnosis) from None
            except OutOfMemory as fault:
                raise self._faulty(fault, call, want) from None
            calls.append(Call(name, args, kwargs, answer, tuple(self._solution.warned)))
            if (why := difference(answer, want, tolerance)) is not None:
                failures.append(Failed("wrong answer", why, call=call.text, expected=short(want), got=short(answer)))
            elif warns and not _warned(needed := warns(*args, **kwargs), self._solution.warned):
                why = f"no warning of the call names {' and '.join(needed)}"
                failures.append(
                    Failed(
                        "wrong answer",
                        why,
                        call=call.text,
                        expected=f"{short(want)} and a warning",
                        got=f"{short(answer)} and {self._solution.warned or 'no warning'}",
                    )
                )
            spent = time.monotonic() - started
            if failures and spent > ENOUGH:
                break
            if spent > self._seconds:
                raise Failed(
                    "timeout",
                    f"the calls of this test took more than {self._seconds:g} s together",
                    call=call.text,
                    diagnosis=self._known(slow) if slow else "",
                )
        if failures:
            shown = min(failures, key=lambda f: len(f.call))
            if len(calls) > 1:
                shown.share = f"{len(failures)} of {len(calls)} inputs fail; this is the shortest"
            shown.diagnosis = self._diagnose(calls)
            raise shown

    def _faulty(self, fault: Fault, call: Call, want: object) -> Failed:
        return Failed(fault.verdict, str(fault), call=call.text, expected=short(want), trace=fault.trace)


def _warned(needed: list[str], texts: list[str]) -> bool:
    return any(all(re.search(rf"(?<!\d){re.escape(n)}(?!\d)", text) for n in needed) for text in texts)
