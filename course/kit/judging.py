"""Running the judge from a notebook: the same program as in a terminal, in a process of its own."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from grader import workspace
from grader.cells import read_state
from grader.pieces import split
from grader.problems import ROOT, Problem

PASSED, NOT_RUN = "passed", "not run"


@dataclass(frozen=True)
class Report:
    """A judgement as `--json` gives it; `error` when the judge could not give one.

    `written` is when the judged code was written, in seconds since the epoch, where that is known.
    """

    data: dict = field(default_factory=dict)
    error: str = ""
    written: float | None = None

    @property
    def verdict(self) -> str:
        return str(self.data.get("verdict", "")) or "no verdict"

    @property
    def accepted(self) -> bool:
        return self.verdict == "accepted"

    @property
    def tests(self) -> list[dict]:
        return self.data.get("tests", [])

    @property
    def failures(self) -> list[dict]:
        """Failed tests worth a look: the same reason is kept once, as when the file cannot be imported."""
        kept, reasons = [], set()
        for test in self.tests:
            if test.get("outcome") in (PASSED, NOT_RUN):
                continue
            reason = None if test.get("call") else (test.get("outcome"), test.get("why"), test.get("message"))
            if reason is None or reason not in reasons:
                kept.append(test)
            reasons.add(reason)
        return kept

    @property
    def all_stubs(self) -> bool:
        return bool(self.tests) and all(t.get("stub") for t in self.tests)

    @property
    def facts(self) -> str:
        """Counts, time, seed and layers, in one line."""
        d = self.data
        counts = f"{d.get('passed', 0)} of {d.get('total', 0)} tests, {d.get('seconds', 0):.1f} s"
        return f"{counts}, seed {d.get('seed')}, {' + '.join(d.get('sandbox', []))}"


def command(
    problem: Problem, part: str | None = None, seed: int | None = None, json_: bool = False
) -> list[str]:
    """The judge's arguments, without the program."""
    words = [str(problem.id)]
    words += ["--part", part] if part else []
    words += ["--seed", str(seed)] if seed is not None else []
    return words + (["--json"] if json_ else [])


def judge_now(
    problem: Problem, part: str | None = None, seed: int | None = None, file: Path | None = None
) -> Report:
    """Judges the workspace's file (or `file`) and waits for the report, whatever it says."""
    words = command(problem, part, seed, json_=True)
    words[1:1] = [str(file)] if file else []
    written = None if file else written_at(problem, part)
    try:
        done = subprocess.run(
            [sys.executable, str(ROOT / "judge.py"), *words],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
        )  # fmt: skip
    except OSError as e:
        return Report(error=f"The judge could not be started ({e}).")
    try:
        data = json.loads(done.stdout.rstrip().rsplit("\n", 1)[-1])
        if not isinstance(data, dict):
            raise ValueError
    except ValueError:
        said = (done.stderr.strip() or done.stdout.strip() or f"exit status {done.returncode}").splitlines()[
            -1
        ]
        return Report(error=f"The judge gave no report: {said}")
    if "verdict" not in data and "error" in data:
        return Report(error=str(data["error"]))
    return Report(data, written=written)


def written_at(problem: Problem, part: str | None) -> float | None:
    """When the workspace's code for a part was written: by its cell, else when the file was. None without a file.

    An answer cell that was edited and not run shows by this: what is judged is older than the edit.
    """
    ws = workspace.path()
    file = ws / "mini_llm" / problem.module
    with contextlib.suppress(OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        texts = {p.text for p in split(file.read_text(encoding="utf-8"))} if part else set()
        for entry, at in read_state(ws).get(problem.module, []):
            if part in entry.names and set(entry.pieces) <= texts:
                return at
    with contextlib.suppress(OSError):
        return file.stat().st_mtime
    return None


def judge_later(problem: Problem, part: str | None, done: Callable[[Report], None]) -> threading.Thread:
    """Judges in a thread, so that the kernel stays free; calls `done` with the report there."""
    thread = threading.Thread(
        target=lambda: done(judge_now(problem, part)), name=f"judge-{problem.id}", daemon=True
    )
    thread.start()
    return thread


def hints_for(problem: Problem, part: str | None) -> list[str]:
    """The problem's hints; with a part, those that speak of it: a hint belongs to the part it names first."""
    if not part:
        return problem.hints
    kept, about = [], next(iter(problem.parts), None)
    for hint in problem.hints:
        named = [(hint.find(f"`{p}`"), p) for p in problem.parts if f"`{p}`" in hint]
        about = min(named)[1] if named else about
        if about == part:
            kept.append(hint)
    return kept
