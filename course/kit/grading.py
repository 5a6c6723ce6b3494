"""A class's notebooks through the judge: every part's points, and the report that the student reads.

Knows nothing of nbgrader; `nbgrading.py` puts what comes from here into the test cells. A student's code is
read here as text and run nowhere but in the judge's worker.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from grader import problems
from grader.batch import strong_layers
from grader.cells import GRADE_ID, Answer, Assembled, answers, assemble
from grader.growth import read_cell
from grader.layers import SandboxError, strong
from grader.pieces import IMPORTS, binding, split
from grader.problems import ROOT, Problem
from grader.stubs import is_stub
from kit.outcome import Outcome

SEED_FILE = "grading_seed.json"
NO_IMPORT = ("import error", "timeout", "crashed", "memory")  # what all tests get when a file cannot be imported
# Of one answer cell, so that reading it takes no time that matters; the course's own have a tenth of these.
MOST = 16 << 10  # characters
MOST_IMPORTS = 100


class Refused(Exception):
    """A class cannot be graded here; the message is one clear sentence."""


class NotJudged(Exception):
    """The judge gave no verdict: a person has to look. The message is the reason as a clause."""


def class_seed(course: Path) -> int:
    """The seed of a class, drawn once and kept beside its gradebook, so that a regrade gives the same points."""
    path = course / SEED_FILE
    if not path.exists():
        # Written aside, then linked: of several grading processes that start at once, one sets the seed.
        fd, aside = tempfile.mkstemp(dir=course, prefix=f".{SEED_FILE}-")
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            file.write(json.dumps({"seed": secrets.randbelow(1_000_000)}) + "\n")
        try:
            os.chmod(aside, 0o644)
            os.link(aside, path)
        except FileExistsError:
            pass
        finally:
            os.unlink(aside)
    try:
        seed = json.loads(path.read_text(encoding="utf-8"))["seed"]
        if type(seed) is int and seed >= 0:
            return seed
    except (OSError, ValueError, KeyError, TypeError):
        pass
    raise Refused(f'{path} holds no seed; write {{"seed": N}} into it, with the N that earlier reports name.')


def require_strong_layer() -> None:
    """Raises Refused where students' code could read the tests, or could not be run at all."""
    try:
        strong_layers()
    except SandboxError as e:
        raise Refused(str(e)) from None


def judge_notebook(
    notebook: Mapping, which: Collection[int], seed: int, seconds: float = 600
) -> dict[tuple[int, str], Outcome]:
    """What the notebook's answer cells earned for the problems `which`: {(problem, part): outcome}.

    One run of the judge for each problem. `seconds`: after how long without an answer a run is given up.
    """
    found, left_out = [], {}
    for answer in answers(notebook):
        if why := _unreadable(answer):
            left_out[answer.grade_id] = why
        else:
            found.append(answer)
    asked = [problems.get(number) for number in sorted(which)]
    modules = {name: _Module(name, found, seed, seconds) for name in {p.module for p in asked}}
    outcomes = {}
    for problem in asked:
        left_out |= dict(modules[problem.module].whole.left_out)
        for part, outcome in modules[problem.module].outcomes(problem).items():
            why = left_out.get(f"answer-{problem.id}-{part}", "")
            outcomes[problem.id, part] = outcome.but(left_out=why)
    return outcomes


def _unreadable(answer: Answer) -> str:
    """Why an answer cell is not even tried to be read, as a clause; '' when it is."""
    if len(answer.source) > MOST:
        return f"it is longer than {MOST >> 10} KiB"
    try:
        imports = [n for p in read_cell(answer.source).definitions for n in p.nodes if isinstance(n, IMPORTS)]
        if sum(len(node.names) for node in imports) > MOST_IMPORTS:
            return f"it imports more than {MOST_IMPORTS} names"
        assemble([answer], answer.module)
    except (SyntaxError, ValueError):
        pass  # a reason that names the line comes from the whole
    except (RecursionError, MemoryError):
        return "it is nested too deeply to be read as Python"
    return ""


class _Module:
    """The answer cells of one module: judged together, and apart when together they cannot be imported."""

    def __init__(self, module: str, cells: Iterable[Answer], seed: int, seconds: float):
        self.cells = [c for c in cells if c.module == module]
        self.whole = assemble(self.cells, module)
        self.module, self.seed, self.seconds = module, seed, seconds
        self._apart: dict[Answer, dict] | None = None

    def outcomes(self, problem: Problem) -> dict[str, Outcome]:
        """Of each part of `problem`."""
        if _unwritten(self.whole, problem):
            return {part: Outcome(problem, part, self.seed) for part in problem.parts}
        try:
            together, alone = self._reports(problem)
        except NotJudged as e:
            return {part: Outcome(problem, part, self.seed, trouble=str(e)) for part in problem.parts}
        found = {}
        for part in problem.parts:
            # The best counts; of equals, what the part's own cell did when it is what fails at import.
            first = [r for cell, r in alone.items() if cell.part == part and cell in self.unsound]
            reports = [*first, *together, *alone.values()]
            best = max(reports, key=lambda r, part=part: r["parts"][part]["passed"])
            unsound = tuple(cell.grade_id for cell in self.unsound)
            found[part] = Outcome(problem, part, self.seed, best["tests"], best["sandbox"], bool(alone), unsound)
        return found

    @property
    def unsound(self) -> list[Answer]:
        """The cells that fail at import on their own."""
        return [cell for cell, report in (self._apart or {}).items() if not importable(report)]

    def _reports(self, problem: Problem) -> tuple[list[dict], dict[Answer, dict]]:
        """On the cells together, one report at most; and on each of the problem's cells, if that failed."""
        if self._apart is None:
            report = ask(problem, self.whole.source, self.seed, self.seconds)
            if importable(report) or len(self.cells) == 1:
                return [report], {}
            apart = {}
            for cell in self.cells:
                alone = assemble([cell], self.module)
                if not alone.left_out:
                    apart[cell] = ask(problems.get(cell.problem), alone.source, self.seed, self.seconds)
            self._apart = apart
        together = []
        if sound := [cell for cell in self._apart if cell not in self.unsound]:
            # An answer may call another one, so those that can be imported are judged together again.
            together = [ask(problem, assemble(sound, self.module).source, self.seed, self.seconds)]
        return together, {cell: r for cell, r in self._apart.items() if cell.problem == problem.id}


def _unwritten(made: Assembled, problem: Problem) -> bool:
    """Whether all that the problem asks for is still as it was handed out, so that no test could pass."""
    return all(is_stub(piece.nodes[0]) for piece in binding(split(made.source), problem.names))


def importable(report: Mapping) -> bool:
    """Whether the judged file could be imported; calls that all crash count as 'no', which costs time only."""
    outcomes = {test["outcome"] for test in report["tests"]}
    return len(outcomes) > 1 or outcomes.isdisjoint(NO_IMPORT)


def ask(problem: Problem, source: str, seed: int, seconds: float) -> dict:
    """The judge's report on a module's text. Raises NotJudged."""
    with tempfile.TemporaryDirectory(prefix="mini-llm-grading-") as folder:
        Path(folder, problem.module).write_text(source, encoding="utf-8", newline="\n")
        words = [str(problem.id), problem.module, "--package", "--json", "--seed", str(seed)]
        said, errors, status = _run([sys.executable, str(ROOT / "judge.py"), *words], folder, seconds)
    try:
        report = json.loads(said.rstrip().rsplit("\n", 1)[-1])
        if status in (0, 1) and _complete(report, problem, seed):
            return report
        reason = str(report["error"])
    except (ValueError, KeyError, TypeError):
        reason = (errors.strip().splitlines() or [f"it ended with status {status} and gave no report"])[-1]
    raise NotJudged(reason)


def _run(command: list[str], folder: str, seconds: float) -> tuple[str, str, int]:
    process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, encoding="utf-8", errors="replace",
                               start_new_session=True)  # fmt: skip
    try:
        said, errors = process.communicate(timeout=seconds)
        return said, errors, process.returncode
    except subprocess.TimeoutExpired:
        raise NotJudged(f"it gave no answer within {seconds:g} s") from None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def _complete(report: dict, problem: Problem, seed: int) -> bool:
    """Whether a report is about what was asked, all of it, and was made inside a strong layer."""
    if report["problem"] != problem.id or report["seed"] != seed:
        return False
    if not strong(report["sandbox"]):
        raise NotJudged("only process limits were on, and a class is graded inside bubblewrap or Landlock")
    return all(report["parts"][name]["total"] == part.tests for name, part in problem.parts.items())


def part_of(grade_id: str) -> tuple[int, str] | None:
    """The problem and part that a test cell named `judge-133-pad_to` is for, if there is such a part."""
    match = GRADE_ID.fullmatch(grade_id.replace("judge-", "answer-", 1)) if grade_id.startswith("judge-") else None
    problem = problems.load_all().get(int(match[1])) if match else None
    return (problem.id, match[2]) if problem and match[2] in problem.parts else None
