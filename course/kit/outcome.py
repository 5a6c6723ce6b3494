"""What one part of a problem earned in a class, and the report of it that stands under its test cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from grader.problems import Problem
from grader.report import printable
from kit.judging import NOT_RUN, PASSED
from kit.report import rows, rule

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
    alone: bool = False  # judged apart from other cells, because together they cannot be imported
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
        return min(max(worth * (self.passed / total), 0.0), worth)

    def report(self, worth: float) -> str:
        """For the student: plain text, all that came from their code escaped and cut."""
        points = self.points(worth)
        if points is None:
            return "\n".join([f"{self.part}: not judged yet", "", *self.notes,
                              f"The judge failed, which is nobody's answer's fault: {printable(self.trouble, 500)}",
                              "Your instructor grades this part by hand, or has it judged again."])  # fmt: skip
        total = self.problem.parts[self.part].tests
        head = f"{self.part}: {points:.3g} of {worth:g} points"
        if not self.own or all(t["stub"] for t in self.own):
            why = f"The answer cell does not count: {printable(self.left_out, 500)}." if self.left_out else ""
            return "\n".join(filter(None, [head, "", *self.notes, why or "Not written yet."]))
        lines = [f"{head}, {self.passed} of {total} tests passed", "", *self._remarks(), *map(_line, self.own)]
        failures = [t for t in self.own if t["outcome"] not in MARK and not t["why"].startswith("not run:")]
        for test in failures[:SHOWN]:
            lines += ["", f"✗ {rule(test)}", *_details(test)]
        if len(failures) > SHOWN:
            lines += ["", f"{len(failures) - SHOWN} more failed; repair these first."]
        again = f"python judge.py {self.problem.id} --part {self.part} --seed {self.seed}"
        return "\n".join([*lines, "", f"Judged with seed {self.seed} ({' + '.join(self.sandbox)}).",
                          f"The same tests on your own file: {again}"])  # fmt: skip

    def _remarks(self) -> list[str]:
        said = list(self.notes)
        if self.left_out:
            said.append(f"The answer cell does not count: {printable(self.left_out, 500)}.")
        if self.alone:
            said.append("Your answer cells cannot be imported together, because one of them fails at import. "
                        "So each was judged alone, too, and the best result of each part counts.")  # fmt: skip
        return [*said, ""] if said else []


def _line(test: dict) -> str:
    outcome = test["outcome"]
    return f"  {MARK.get(outcome, '✗')} {rule(test)}" + ("" if outcome == PASSED else f"  [{outcome}]")


def _details(test: dict) -> list[str]:
    """What a failing test has to say, labels in one column and continued lines under their first."""
    found = []
    for label, text, _ in rows(test):
        first, *more = printable(text, 1600).split("\n")
        found.append(f"    {label:<18}{first}")
        found += [f"    {'':<18}{line}" for line in more]
    return found
