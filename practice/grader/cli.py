"""The command line: `judge.py 133`, `judge.py list`, and the rest. Exit status: 0 accepted, 1 not accepted,
2 wrong usage or an unknown problem, 3 the judge itself failed."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from grader import problems, progress, workspace
from grader.layers import SandboxError
from grader.problems import Problem, ProblemError

ACCEPTED, NOT_ACCEPTED, USAGE, JUDGE_FAILED, STOPPED = 0, 1, 2, 3, 130
MOST_BYTES = 1 << 20  # of a submission

USAGE_TEXT = """\
usage: judge.py N [FILE.py]      judge your own code for problem N, or that file
       judge.py COMMAND ...

commands:
  list             the problems, and where you are
  show N           the statement of a problem (--zh: 中文)
  start N          where to write it, and with what to begin
  hint N [K]       the next hint, or hint K
  doctor           what the sandbox is made of here, and what is missing
  check [N ...]    for maintainers: reference, stub and mutants of each problem
  grade DIR        for instructors: all files of a class, many at once
  release [OUT]    for instructors: what students get, made by nbgrader

when judging:
  --examples       only the examples of the statement
  --part NAME      only one of the functions
  --package        FILE is a module of mini_llm: `from .x import y` works in it
  --seed S         the same inputs again
  --sandbox A,B    exactly these layers: process, bubblewrap, landlock, seccomp
  --json           the last line of the output is one JSON object
  -h, --help       this text

when grading a class (course/INSTRUCTORS.md):
  --problems A,B   only these; otherwise all that anything was handed in for
  --out DIR        where the results go (results/); a run that was stopped goes on there
  --again          judges anew what was judged before
  --jobs N         so many at once, instead of one for each core
  --scheduler URL  on the workers of a Dask cluster
  --seed S, --json as above

exit status: 0 accepted, 1 not accepted, 2 wrong usage, 3 the judge itself failed
"""


class UsageError(Exception):
    """What was typed makes no sense; the message is one clear sentence."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str):
        raise UsageError(f"{message}. `judge.py --help` lists the commands.")


def main(argv: list[str], prog: str = "judge.py") -> int:
    """Runs a command. Never raises: every ending is an exit status and a sentence."""
    wants_json = "--json" in argv
    try:
        return _dispatch(argv, prog)
    except (UsageError, ProblemError) as e:
        return _fail(str(e), USAGE, wants_json)
    except SandboxError as e:
        return _fail(str(e), JUDGE_FAILED, wants_json)
    except KeyboardInterrupt:
        print("\nstopped", file=sys.stderr)
        return STOPPED
    except BrokenPipeError:  # `judge.py list | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return STOPPED
    except Exception as e:
        if os.environ.get("MINI_LLM_JUDGE_DEBUG"):
            raise
        return _fail(
            f"the judge itself failed, which is not your code's fault: {type(e).__name__}: {e} "
            "(MINI_LLM_JUDGE_DEBUG=1 shows where).",
            JUDGE_FAILED,
            wants_json,
        )


def _fail(message: str, code: int, wants_json: bool) -> int:
    print(f"judge: {message}", file=sys.stderr)
    if wants_json:
        print(json.dumps({"error": message, "exit": code}))
    return code


def _dispatch(argv: list[str], prog: str) -> int:
    if not argv:
        print(USAGE_TEXT, end="")
        return USAGE
    if "-h" in argv or "--help" in argv:
        print(USAGE_TEXT, end="")
        return ACCEPTED
    commands = {"list": _list, "show": _show, "start": _start, "hint": _hint, "doctor": _doctor, "check": _check}
    commands |= {"grade": _for_instructors("command"), "release": _for_instructors("release")}
    for i, word in enumerate(argv):
        if word in commands:
            return commands[word](argv[:i] + argv[i + 1 :], prog)
        if not word.startswith("-"):
            break
    return _judge(argv, prog)


def _console(stderr: bool = False):
    from rich.console import Console

    return Console(highlight=False, soft_wrap=False, stderr=stderr, emoji=False, markup=False)


# -- judging --------------------------------------------------------------------------------------------------


def _judge(argv: list[str], prog: str) -> int:
    parser = _Parser(prog=prog, add_help=False)
    parser.add_argument("problem")
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--examples", action="store_true")
    parser.add_argument("--part")
    parser.add_argument("--package", action="store_true")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--sandbox")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(argv)
    if args.file is None and args.problem.endswith(".py"):
        raise UsageError(f"name the problem first: {prog} 133 {args.problem}")
    problem = problems.get(args.problem)
    if args.part and args.part not in problem.parts:
        raise UsageError(f"problem {problem.id} has no part {args.part!r}; it has {', '.join(problem.parts)}")
    asked = tuple(args.sandbox.split(",")) if args.sandbox else None
    own = args.file is None
    if own:
        for line in workspace.ensure_package():
            print(line, file=sys.stderr)
    path = workspace.learner_file(problem) if own else args.file
    source = _read(path)
    judgement = _run(problem, source, path, args, asked, own)
    if own and not args.examples:
        scores = judgement.as_json()["parts"].items()
        progress.record(problem, {part: (row["passed"], row["total"]) for part, row in scores}, source)
    if args.json:
        print(json.dumps(judgement.as_json(), ensure_ascii=False))
    else:
        from grader.report import print_judgement

        typed = " ".join(
            [
                f"python {_as_typed(prog)}",
                str(problem.id),
                *([str(args.file)] if args.file else []),
                *(["--examples"] if args.examples else []),
                *(["--part", args.part] if args.part else []),
            ]
        )
        print_judgement(_console(), judgement, typed)
    return ACCEPTED if judgement.accepted else NOT_ACCEPTED


def _run(problem: Problem, source: bytes, path: Path, args, asked, own: bool):
    from grader import runner

    package = "mini_llm" if own or args.package else None
    shown = workspace.shown(path) if own else str(path)

    def go(on_test=None):
        return runner.judge(
            problem,
            source,
            shown,
            seed=args.seed,
            examples=args.examples,
            part=args.part,
            asked=asked,
            package=package,
            on_test=on_test,
        )

    if args.json or not sys.stderr.isatty():
        judgement = go()
    else:
        with _console(stderr=True).status("starting") as status:
            judgement = go(lambda name: status.update(name.replace("_", " ")))
    if "bubblewrap" not in judgement.sandbox and "landlock" not in judgement.sandbox:
        judgement.notes.append(
            "Only process limits are on: the code can read this disk. That is fine for your own "
            "code; `judge.py doctor` says what a stronger sandbox needs."
        )
    if own:
        judgement.notes += _cell_notes(problem, source)
    return judgement


def _as_typed(prog: str) -> str:
    """The judge's path as a person would type it from here; the workspace has a launcher of its own."""
    if Path.cwd() == workspace.path() and Path("judge.py").exists():
        return "judge.py"
    try:
        relative = os.path.relpath(prog)
    except ValueError:
        return prog
    return relative if not relative.startswith("..") else prog


def _cell_notes(problem: Problem, source: bytes) -> list[str]:
    """One line for each answer cell that differs from the file: the cell is what a class grades."""
    try:
        from grader import cells
    except ImportError:
        return []
    return cells.differences(problem, source.decode("utf-8", "replace"))


def _read(path: Path) -> bytes:
    try:
        if path.is_dir():
            raise UsageError(f"{path} is a folder; name a Python file")
        if path.stat().st_size > MOST_BYTES:
            raise UsageError(f"{path} is larger than {MOST_BYTES >> 20} MiB; that is no solution to judge")
        return path.read_bytes()
    except FileNotFoundError:
        raise UsageError(f"there is no file {path}") from None
    except OSError as e:
        raise UsageError(f"{path} cannot be read: {e.strerror}") from None


# -- the other commands ---------------------------------------------------------------------------------------


def _one_problem(argv: list[str], prog: str, *more: tuple[tuple, dict]) -> tuple[Problem, argparse.Namespace]:
    parser = _Parser(prog=prog, add_help=False)
    parser.add_argument("problem")
    for names, options in more:
        parser.add_argument(*names, **options)
    args = parser.parse_args(argv)
    return problems.get(args.problem), args


def _list(argv: list[str], prog: str) -> int:
    parser = _Parser(prog=prog, add_help=False)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(argv)
    kept = progress.read()
    rows = [
        {
            "id": p.id,
            "name": p.name,
            "title": p.title,
            "title_zh": p.title_zh,
            "chapter": p.chapter,
            "level": p.level,
            "minutes": p.minutes,
            "needs": list(p.needs),
            "status": progress.status(p, kept),
        }
        for p in problems.load_all().values()
    ]
    if args.json:
        print(json.dumps({"problems": rows}, ensure_ascii=False))
    else:
        from grader.report import print_list

        print_list(_console(), rows)
    return ACCEPTED


def _show(argv: list[str], prog: str) -> int:
    problem, args = _one_problem(argv, prog, (("--zh",), {"action": "store_true"}))
    from grader.report import print_statement

    chinese = args.zh or os.environ.get("LANG", "").startswith("zh")
    print_statement(_console(), problem, chinese)
    return ACCEPTED


def _start(argv: list[str], prog: str) -> int:
    problem, _ = _one_problem(argv, prog)
    for line in workspace.ensure_package():
        print(line)
    command = f"python {_as_typed(prog)}"
    file = workspace.shown(workspace.learner_file(problem))
    first = next(iter(problem.parts))
    alone = f" --part {first}" if len(problem.parts) > 1 else ""
    console = _console()
    console.print(f"{problem.id} {problem.title}", style="bold")
    console.print(f"Write {', '.join(problem.names)} in {file},")
    console.print(f"or in the notebook of chapter {problem.chapter} (make learn). The statement:")
    console.print(f"  {command} show {problem.id}", soft_wrap=True)
    console.print(f"Begin with {first}, and judge it{' alone' if alone else ''}:")
    console.print(f"  {command} {problem.id}{alone}", soft_wrap=True)
    return ACCEPTED


def _hint(argv: list[str], prog: str) -> int:
    problem, args = _one_problem(argv, prog, (("which",), {"nargs": "?", "type": int}))
    hints = problem.hints
    seen = progress.read().get(str(problem.id), {}).get("hints", 0)
    which = args.which if args.which is not None else min(seen + 1, len(hints))
    if not 1 <= which <= len(hints):
        raise UsageError(f"problem {problem.id} has hints 1 to {len(hints)}")
    from rich.markdown import Markdown

    console = _console()
    console.print(f"Hint {which} of {len(hints)}", style="bold")
    console.print(Markdown(hints[which - 1]))
    if args.which is None and workspace.path().exists():
        progress.remember(problem, hints=max(seen, which))
    if which == len(hints):
        console.print("That was the last hint.", style="dim")
    return ACCEPTED


def _doctor(argv: list[str], prog: str) -> int:
    _Parser(prog=prog, add_help=False).parse_args(argv)
    from grader import doctor

    return ACCEPTED if doctor.report(_console()) else NOT_ACCEPTED


def _for_instructors(name: str):
    def run(argv: list[str], prog: str) -> int:
        from grader import grade

        return getattr(grade, name)(argv, prog)

    return run


def _check(argv: list[str], prog: str) -> int:
    parser = _Parser(prog=prog, add_help=False)
    parser.add_argument("problems", nargs="*")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--sandbox")
    args = parser.parse_args(argv)
    if args.seeds < 1:
        raise UsageError("--seeds takes a number from 1")
    chosen = [problems.get(p) for p in args.problems] or list(problems.load_all().values())
    asked = tuple(args.sandbox.split(",")) if args.sandbox else None
    from grader import check

    return ACCEPTED if check.run(chosen, args.seeds, asked, _console()) else NOT_ACCEPTED
