"""What one part of a problem earned in a class, and the report of it that stands under its test cell."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from grader.problems import Problem
from grader.report import printable
from kit.judging import NOT_RUN, PASSED
from kit.report import rows, rule

WIDTH = 82  # of a value in the report; the feedback page shows 104 characters in a line
SHOWN = 3  # failing tests of a part that are shown in full
MARK = {PASSED: "✓", NOT_RUN: "·"}


@dataclass(frozen=True)
class Outcome:
    """`tests` are the judge's, of every part, as `--json` gives them; none when nothing was written."""

    problem: Problem
    part: str
    seed: int
    tests: Sequence[dict] = ()
    sandbox: Sequence[str] = ()
    apart: bool = False  # the answer cells were judged apart, because together they cannot be imported
    unsound: tuple[str, ...] = ()  # the answer cells that fail at import on their own
    left_out: str = ""  # why the answer cell is not in the module, as a clause
    trouble: str = ""  # why the judge gave no verdict, as a clause
    notes: tuple[str, ...] = field(default=())  # what happened to the notebook, one sentence each

    def but(self, **changes) -> Outcome:
        return replace(self, **changes)

    @property
    def own(self) -> list[dict]:
        """This part's tests."""
        return [t for t in self.tests if t["part"] == self.part]

    @property
    def passed(self) -> int:
        return sum(t["outcome"] == PASSED for t in self.own)

    def points(self, worth: float) -> float | None:
        """Of `worth`, by the share of tests that passed; None when a person has to decide."""
        if self.trouble:
            return None
        total = self.problem.parts[self.part].tests
        return min(max(worth * self.passed / total, 0.0), worth)

    def report(self, worth: float) -> str:
        """For the student: plain text, all that came from their code escaped and cut."""
        points = self.points(worth)
        seed = f"Seed {self.seed}."
        if points is None:
            said = [*self.notes, f"The judge failed, which is no fault of the answer: {printable(self.trouble, 500)}",
                    "Your instructor grades this part by hand, or has it judged again."]  # fmt: skip
            return "\n".join([f"{self.part}: not judged yet", "", *said, "", seed])
        head = f"{self.part}: {points:.3g} of {worth:g} points"
        if not self.own or all(t["stub"] for t in self.own):
            said = self._remarks() or ["Not written yet.", ""]
            return "\n".join([head, "", *said, seed])
        total = self.problem.parts[self.part].tests
        lines = [f"{head}, {self.passed} of {total} tests passed", "", *self._remarks(), *map(_line, self.own)]
        failures = [t for t in self.own if t["outcome"] not in MARK and not _skipped(t)]
        if self.own and all(map(_skipped, self.own)):  # why stands with another part's test, which came first
            failures = [{**t, "rule": "The answers could not be imported."} for t in self.tests if not _skipped(t)][:1]
        for test in failures[:SHOWN]:
            lines += ["", f"✗ {rule(test)}", *_details(test)]
        if len(failures) > SHOWN:
            lines += ["", f"{len(failures) - SHOWN} more failed; repair these first."]
        again = f"python judge.py {self.problem.id} --part {self.part} --seed {self.seed}"
        return "\n".join([*lines, "", f"{seed} Sandbox: {' + '.join(self.sandbox)}.",
                          f"The same tests on your own file: {again}"])  # fmt: skip

    def _remarks(self) -> list[str]:
        said = list(self.notes)
        if self.left_out:
            said.append(f"The answer cell does not count: {printable(self.left_out, 500)}.")
        if self.apart:
            why = f": {', '.join(self.unsound)} fails at import" if self.unsound else ""
            said += [f"The answer cells cannot be imported together{why}.",
                     "So each one was judged alone as well, and the best result of each part counts."]  # fmt: skip
        return [*said, ""] if said else []


def _skipped(test: dict) -> bool:
    return test["why"].startswith("not run:")


def _line(test: dict) -> str:
    outcome = test["outcome"]
    return f"  {MARK.get(outcome, '✗')} {rule(test)}" + ("" if outcome == PASSED else f"  [{outcome}]")


def _details(test: dict) -> list[str]:
    """What a failing test has to say, labels in one column; long lines go on under their first."""
    found = []
    for label, text, _ in rows(test):
        shown = printable(text, 600 if label == "your code printed" else 1600)
        lines = [piece for line in shown.split("\n") for piece in _wrapped(line)]
        found += [f"    {head:<18}{line}" for head, line in zip([label, *[""] * len(lines)], lines, strict=False)]
    return found


def _wrapped(line: str) -> list[str]:
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.wrap(line, WIDTH, subsequent_indent=indent, drop_whitespace=True, break_on_hyphens=False) or [""]
