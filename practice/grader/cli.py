"""The command line: `judge.py 133`, `judge.py list`, and the rest. Exit status: 0 accepted, 1 not accepted,
2 wrong usage or an unknown problem, 3 the judge itself failed."""

from __future__ import annotations

import contextlib
import errno
import importlib
import json
import os
import shutil
import sys
import textwrap
from pathlib import Path

from grader import once, problems, repeat
from grader.layers import SandboxError
from grader.problems import ProblemError
from grader.signals import stopped_by
from grader.usage import (
    ACCEPTED,
    JUDGE_FAILED,
    NOT_ACCEPTED,
    STOPPED,
    USAGE,
    Parser,
    UsageError,
    find_problem,
    one_line,
    spelled,
    typed,
    whole_number,
)

OVERVIEW = {  # what --help says, group by group
    "judge": [
        ("N", "your own code for problem N"),
        ("N FILE.py", "that file"),
        ("watch N", "again at every save"),
        ("all", "every problem but those that are accepted and unchanged"),
    ],
    "how to judge": [
        ("--part NAME", "only one of the functions"),
        ("--examples", "only the examples of the statement"),
        ("--seed S", "the same inputs again"),
        ("--json", "the last line of the output is one JSON object"),
    ],
    "learn": [
        ("list", "the problems, and where you are"),
        ("show N", "the statement of a problem (--zh: 中文)"),
        ("start N", "where to write it, and with what to begin"),
        ("hint N [K]", "the next hint, or hint K"),
        ("solution N", "the course's code, and why it is right"),
        ("progress", "what is accepted, started, or changed since, chapter by chapter"),
    ],
    "begin again, go on": [
        ("reset N", "the stubs of a problem put back; a backup is kept"),
        ("catch-up CHAPTER", "all that comes before a chapter, from the course; a backup is kept"),
    ],
    "for instructors (course/INSTRUCTORS.md)": [
        ("grade DIR", "all files of a class, many at once"),
        ("release [OUT]", "what students get, made by nbgrader"),
    ],
    "the judge itself": [
        ("doctor", "what the sandbox is made of here, and what is missing"),
        ("check [N ...]", "for maintainers: reference, stub and mutants of each problem"),
    ],
}
STATUSES = "exit status: 0 accepted, 1 not accepted, 2 wrong usage, 3 the judge itself failed, 130 stopped by Ctrl-C"


def main(argv: list[str], prog: str = "judge.py") -> int:
    """Runs a command. Never raises: every ending is an exit status and a sentence."""
    wants_json = "--json" in argv
    try:
        with stopped_by():
            code = _dispatch(argv, prog)
            sys.stdout.flush()
            return code
    except (UsageError, ProblemError) as e:
        return _fail(str(e), USAGE, wants_json, prog)
    except SandboxError as e:
        return _fail(str(e), JUDGE_FAILED, wants_json, prog)
    except SystemExit as e:  # argparse, after --help
        return e.code if isinstance(e.code, int) else ACCEPTED
    except KeyboardInterrupt:
        with contextlib.suppress(OSError):  # the terminal may be gone
            print("\nstopped", file=sys.stderr)
        return STOPPED
    except BrokenPipeError:  # `judge.py list | head`
        _no_more_output()
        return STOPPED
    except OSError as e:
        if e.errno not in (errno.ENOSPC, errno.EDQUOT):
            return _failed_itself(e, wants_json, prog)
        if (full := e.filename2 or e.filename) is None:
            _no_more_output()
        where = f"for {full}; TMPDIR names another folder for temporary files" if full else "for the output"
        return _fail(f"no space is left {where}", JUDGE_FAILED, wants_json and full is not None, prog)
    except Exception as e:
        return _failed_itself(e, wants_json, prog)


def _no_more_output() -> None:
    """What is still to be written goes nowhere, so that Python does not try again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _failed_itself(error: Exception, wants_json: bool, prog: str) -> int:
    if os.environ.get("MINI_LLM_JUDGE_DEBUG"):
        raise error
    return _fail(
        f"the judge itself failed, which is not your code's fault: {type(error).__name__}: {error} "
        "(MINI_LLM_JUDGE_DEBUG=1 shows where)",
        JUDGE_FAILED,
        wants_json,
        prog,
    )


def _fail(message: str, code: int, wants_json: bool, prog: str) -> int:
    message = spelled(one_line(message, 2000), prog)
    message += "" if message.endswith((".", "?")) else "."
    print(f"judge: {message}", file=sys.stderr)
    if wants_json:
        print(json.dumps({"error": message, "exit": code}))
    return code


def _dispatch(argv: list[str], prog: str) -> int:
    commands = {
        "list": _from("learner", "list_"),
        "show": _from("learner", "show"),
        "start": _from("learner", "start"),
        "hint": _from("learner", "hint"),
        "solution": _from("learner", "solution"),
        "progress": _from("learner", "progress_"),
        "watch": _from("watch", "watch"),
        "all": _from("everything", "all_"),
        "reset": _from("rewind", "reset"),
        "catch-up": _from("rewind", "catch_up"),
        "doctor": _from("doctor", "doctor"),
        "check": _check,
        "grade": _from("grade", "command"),
        "release": _from("grade", "release"),
    }
    if argv == ["help"]:
        argv = ["--help"]
    for i, word in enumerate(argv):
        if word in commands:
            return commands[word](argv[:i] + argv[i + 1 :], prog)
        if not word.startswith("-"):
            return _judge(argv, prog, tuple(commands))
    if "-h" in argv or "--help" in argv:
        print(overview(prog))
        return ACCEPTED
    if argv:
        return _judge(argv, prog, tuple(commands))
    print(overview(prog))
    return USAGE


def overview(prog: str) -> str:
    """What `--help` says, as wide as the terminal allows."""
    width = max(min(shutil.get_terminal_size().columns, 100), 30)
    column = 2 + max(len(words) for rows in OVERVIEW.values() for words, _ in rows) + 2
    lines = [f"usage: python {typed(prog)} N [FILE.py] [options]", f"       python {typed(prog)} COMMAND ..."]
    for group, rows in OVERVIEW.items():
        lines += ["", f"{group}:"]
        for words, about in rows:
            narrow = width < column + 30
            head, indent = ("", 6) if narrow else (f"  {words}", column)
            lines += [f"  {words}"] * narrow
            lines += textwrap.wrap(about, width, initial_indent=head.ljust(indent), subsequent_indent=" " * indent)
    lines += ["", "What one of them takes: add --help, as in", f"  python {typed(prog)} watch --help", ""]
    return "\n".join([*lines, *textwrap.wrap(STATUSES, width)])


def _judge(argv: list[str], prog: str, commands: tuple[str, ...] = ()) -> int:
    parser = Parser(
        prog,
        about="Judges your own code for problem N, in your workspace, or the file that you name. Nothing is written "
        "for a file; for your own code the verdict is kept as your progress.",
        epilog=STATUSES,
    )
    once.takes_options(parser)
    parser.add_argument(
        "--save-input", type=Path, metavar="FILE.py", help="the first failing input, as a program that repeats it"
    )
    parser.takes_json()
    args = parser.parse_args(argv)
    if args.problem is None:
        raise UsageError("name a problem, as in `judge.py 133`; `judge.py list` shows them")
    if args.file is None and args.problem.endswith(".py"):
        raise UsageError(f"name the problem first: `judge.py 133 {args.problem}`")
    what = once.asked(args, find_problem(args.problem, commands))
    if args.save_input is not None:
        repeat.may_write(args.save_input, what.path)
    if args.json or not sys.stderr.isatty():
        judgement = once.judge(what)
    else:
        from grader.terminal import console

        with console(stderr=True).status("starting") as status:
            judgement = once.judge(what, lambda name: status.update(name.replace("_", " ")))
    judgement.notes = [spelled(note, prog) for note in judgement.notes]
    if args.save_input is not None:
        judgement.notes.append(repeat.save(args.save_input, what, judgement))
    if args.json:
        print(json.dumps(judgement.as_json()))  # ASCII: what the code said is not for a terminal to act upon
    else:
        from grader.report import print_judgement
        from grader.terminal import console

        print_judgement(console(), judgement, what.words(prog), f"python {typed(prog)}")
    return ACCEPTED if judgement.accepted else NOT_ACCEPTED


def _from(module: str, function: str):
    """A command of another module, which is imported when it is asked for: a judgement is to start soon."""

    def run(argv: list[str], prog: str) -> int:
        return getattr(importlib.import_module(f"grader.{module}"), function)(argv, prog)

    return run


def _check(argv: list[str], prog: str) -> int:
    parser = Parser(
        prog,
        "check",
        "For maintainers: the reference is accepted, the stub and idle answers score 0, and every mutant gets the "
        "verdict and the diagnosis that are written in it.",
    )
    parser.add_argument("problems", nargs="*", metavar="N", help="these problems; all without one")
    parser.add_argument("--seeds", type=whole_number, default=1, metavar="K", help="so many rounds with fresh inputs")
    parser.takes_sandbox()
    less = parser.add_mutually_exclusive_group()
    less.add_argument("--brief", action="store_true", help="a mutant of one function: that function's tests only")
    less.add_argument("--quick", action="store_true", help="without the mutants")
    parser.add_argument("--jobs", type=whole_number, default=os.cpu_count(), metavar="J", help="so many rounds at once")
    parser.takes_json()
    args = parser.parse_args(argv)
    for option in ("seeds", "jobs"):
        if getattr(args, option) < 1:
            raise UsageError(f"--{option} takes a number from 1")
    chosen = [find_problem(p) for p in args.problems] or list(problems.load_all().values())
    from grader import check
    from grader.terminal import console

    how = check.QUICK if args.quick else check.BRIEF if args.brief else check.WHOLE
    found = check.run(chosen, args.seeds, args.sandbox, console(stderr=args.json), args.jobs, how)
    said = check.as_json(found)
    if args.json:
        print(json.dumps(said))
    return ACCEPTED if said["good"] else NOT_ACCEPTED
