"""One judgement as the commands ask for it: which file, with which options, kept in the learner's progress."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from grader import progress, workspace
from grader.problems import Problem
from grader.usage import Parser, UsageError, make_workspace, one_line, read_file, typed, whole_number

ONLY_LIMITS = (
    "Only process limits are on: the code can read this disk, and write what you can write. That is fine for "
    "your own code; `judge.py doctor` says what a stronger sandbox needs."
)
INTERPRETED = (
    "Triton's interpreter ran the kernels: its compiler starts programs, which seccomp refuses. Under bubblewrap they "
    "run on the GPU."
)


@dataclass(frozen=True)
class Asked:
    """What is to be judged, and how. `own` is the learner's file in the workspace: only that counts as progress."""

    problem: Problem
    path: Path
    own: bool
    seed: int | None = None
    examples: bool = False
    part: str | None = None
    package: bool = False
    sandbox: tuple[str, ...] | None = None

    @property
    def shown(self) -> str:
        """The file as messages name it."""
        return one_line(workspace.shown(self.path) if self.own else str(self.path))

    def words(self, prog: str) -> str:
        """The command that asks for this, as it is typed here, without the seed."""
        return " ".join(
            [
                f"python {typed(prog)} {self.problem.id}",
                *([] if self.own else [_pasted(self.path)]),
                *(["--examples"] if self.examples else []),
                *(["--part", self.part] if self.part else []),
                *(["--package"] if self.package else []),
                *(["--sandbox", ",".join(self.sandbox)] if self.sandbox else []),
            ]
        )


def _pasted(path: Path) -> str:
    """A file's name as one types it behind a command."""
    name = str(path)
    return one_line(shlex.quote(f"./{name}" if name.startswith("-") else name))


def takes_options(parser: Parser) -> None:
    """The arguments that `asked` reads."""
    parser.takes_problem()
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE.py", help="judge this file, not your workspace's")
    parser.add_argument("--examples", action="store_true", help="only the examples of the statement")
    parser.add_argument("--part", metavar="NAME", help="only one of the functions")
    parser.add_argument(
        "--package", action="store_true", help="FILE is a module of mini_llm: `from .x import y` works in it"
    )
    parser.add_argument("--seed", type=whole_number, metavar="S", help="the same inputs again")
    parser.takes_sandbox()


def asked(args: argparse.Namespace, problem: Problem) -> Asked:
    """What was asked for; makes the workspace when the file is the learner's own. Raises UsageError."""
    if args.part and args.part not in problem.parts:
        raise UsageError(f"problem {problem.id} has no part {args.part!r}; it has {', '.join(problem.parts)}")
    own = args.file is None
    if own:
        make_workspace(stderr=True)
    return Asked(
        problem,
        workspace.learner_file(problem) if own else args.file,
        own,
        args.seed,
        args.examples,
        args.part,
        args.package,
        args.sandbox,
    )


def judge(what: Asked, on_test: Callable[[str], None] | None = None, workers=None):
    """Reads the file and judges it; the runner's Judgement. Raises UsageError, SandboxError, JudgeError.

    `on_test` and `workers` are the runner's.
    """
    from grader import runner

    source = read_file(what.path)
    judgement = runner.judge(
        what.problem,
        source,
        what.shown,
        seed=what.seed,
        examples=what.examples,
        part=what.part,
        asked=what.sandbox,
        package="mini_llm" if what.own or what.package else None,
        on_test=on_test,
        workers=workers,
    )
    if "bubblewrap" not in judgement.sandbox and "landlock" not in judgement.sandbox:
        judgement.notes.append(ONLY_LIMITS)
    if "triton" in what.problem.needs and judgement.device == "cuda" and "seccomp" in judgement.sandbox:
        judgement.notes.append(INTERPRETED)
    if what.own:
        judgement.notes += _cell_notes(what.problem, source)
        if not what.examples:
            _record(what.problem, judgement, source)
    return judgement


def _record(problem: Problem, judgement, source: bytes) -> None:
    scores = judgement.as_json()["parts"].items()
    try:
        progress.record(problem, {part: (row["passed"], row["total"]) for part, row in scores}, source)
    except OSError as e:  # a disk that is full or may not be written takes nothing from the verdict
        judgement.notes.append(f"Your progress could not be kept in the workspace: {e.strerror or e}.")


def _cell_notes(problem: Problem, source: bytes) -> list[str]:
    """One line for each answer cell that differs from the file: the cell is what a class grades."""
    from grader import cells

    return cells.differences(problem, source.decode("utf-8", "replace"))
