"""What every command shares: exit statuses, its arguments, the spelling of the command, files read with care."""

from __future__ import annotations

import argparse
import difflib
import os
import shlex
import stat
import sys
import unicodedata
from pathlib import Path

from grader import layers, problems, workspace
from grader.problems import Problem

ACCEPTED, NOT_ACCEPTED, USAGE, JUDGE_FAILED, STOPPED = 0, 1, 2, 3, 130
MOST_BYTES = 1 << 20  # of a submission
KINDS = {
    stat.S_ISDIR: "a folder",
    stat.S_ISFIFO: "a pipe",
    stat.S_ISSOCK: "a socket",
    stat.S_ISCHR: "a device",
    stat.S_ISBLK: "a device",
}


class UsageError(Exception):
    """What was typed makes no sense; the message is one clear sentence."""


class Parser(argparse.ArgumentParser):
    """Arguments of one command: its mistakes are a sentence, its --help is what `about` says."""

    def __init__(self, prog: str, name: str = "", about: str = "", **options):
        words = f"python {typed(prog)} {name}".rstrip()
        super().__init__(words, description=about, allow_abbrev=False, **options)
        self.name = name

    def error(self, message: str):
        where = f"judge.py {self.name or next(iter(problems.load_all()))}"
        raise UsageError(f"{message}; `{where} --help` says what it takes")

    def takes_problem(self) -> None:
        self.add_argument("problem", nargs="?", metavar="N", help="the problem: its number or its name")

    def takes_json(self) -> None:
        self.add_argument("--json", action="store_true", help="the last line of the output is one JSON object")

    def takes_sandbox(self) -> None:
        known = ", ".join(layers.KNOWN)
        self.add_argument("--sandbox", type=_layers, metavar="A,B", help=f"exactly these layers: {known}")

    def takes_zh(self) -> None:
        self.add_argument("--zh", action="store_true", help="中文 (also when LANG says so)")

    def problem_of(self, args: argparse.Namespace) -> Problem:
        """The problem that was named. Raises UsageError when none was, or there is no such problem."""
        if args.problem is None:
            first = next(iter(problems.load_all()))
            raise UsageError(f"name a problem, as in `judge.py {self.name} {first}`; `judge.py list` shows them")
        return find_problem(args.problem)


def find_problem(text: str, commands: tuple[str, ...] = ()) -> Problem:
    """The problem with this number or name. Raises UsageError; `commands` are what else may have been meant."""
    there = problems.load_all()
    for problem in there.values():
        if text in (str(problem.id), problem.name, problem.slug):
            return problem
    known = [*commands, *(p.name for p in there.values())]
    near = difflib.get_close_matches(text, known, 1, 0.7) if len(text) < 100 else []
    if near:
        raise UsageError(f"there is no problem {text}; did you mean `judge.py {near[0]}`?")
    raise UsageError(f"there is no problem {text}; there are {ranges(there)} (`judge.py list` shows their titles)")


def ranges(numbers) -> str:
    """Numbers in order, neighbours joined: 130 to 138, 140."""
    groups: list[list[int]] = []
    for n in sorted(numbers):
        if groups and n == groups[-1][-1] + 1:
            groups[-1].append(n)
        else:
            groups.append([n])
    return ", ".join(str(g[0]) if len(g) == 1 else f"{g[0]}{' to ' if len(g) > 2 else ', '}{g[-1]}" for g in groups)


def whole_number(text: str) -> int:
    """An argument that is a whole number; argparse turns the error into a sentence."""
    try:
        if len(text) < 20:
            return int(text)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text[:40]!r} is no whole number of at most 19 digits")


def _layers(text: str) -> tuple[str, ...]:
    """An argument that names layers of the sandbox."""
    asked = tuple(word.strip() for word in text.split(","))
    for layer in asked:
        if layer not in layers.KNOWN:
            raise argparse.ArgumentTypeError(
                f"there is no sandbox layer {layer[:40]!r}; there are {', '.join(layers.KNOWN)}"
            )
    return asked


def typed(prog: str) -> str:
    """The judge's path as a person types it from here; the workspace has a launcher of its own."""
    try:
        here = Path.cwd().resolve()
    except OSError:  # the folder was deleted under the shell
        return shlex.quote(prog)
    ws = workspace.path().resolve()
    if (here == ws or ws in here.parents) and workspace.has_launcher(ws):
        return shlex.quote(os.path.relpath(ws / "judge.py", here))
    relative = os.path.relpath(prog, here)
    return shlex.quote(prog if relative.startswith("..") else relative)


def spelled(message: str, prog: str) -> str:
    """A message with `judge.py list` in it as it must be typed here: `python practice/judge.py list`."""
    return message.replace("`judge.py ", f"`python {typed(prog)} ")


def from_here(place: Path) -> str:
    """A path to paste into a command in this folder."""
    try:
        place = place.relative_to(Path.cwd())
    except (OSError, ValueError):
        pass
    return shlex.quote(str(place))


def one_line(text: str, most: int = 500) -> str:
    """Text of any origin, such as a file's name, on one line: control and format characters are escaped."""

    def escaped(c: str) -> str:
        if "\udc80" <= c <= "\udcff":  # a byte that is no UTF-8
            return f"\\x{ord(c) - 0xDC00:02x}"
        return c.encode("unicode_escape").decode()

    safe = "".join(c if unicodedata.category(c)[0] not in "CZ" or c == " " else escaped(c) for c in text)
    return safe if len(safe) <= most else f"{safe[: most // 2]} [...] {safe[-most // 2 :]}"


def chinese(asked: bool = False) -> bool:
    """Whether to speak Chinese: when asked to with --zh, or where the terminal does."""
    language = next((v for k in ("LC_ALL", "LC_MESSAGES", "LANG") if (v := os.environ.get(k))), "")
    return asked or language.startswith("zh")


def read_file(path: Path) -> bytes:
    """The bytes of a regular file, or of one that a link names, at most MOST_BYTES. Raises UsageError.

    Never waits (a pipe without a writer) and never reads on (a device without an end).
    """
    name = one_line(str(path))
    try:
        _regular(name, os.stat(path).st_mode)  # before it is opened: to open a device may do something
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            _regular(name, os.fstat(descriptor).st_mode)
            data = file.read(MOST_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        raise UsageError(f"there is no file {name}") from None
    except OSError as e:
        raise UsageError(f"{name} cannot be read: {e.strerror}") from None
    if len(data) > MOST_BYTES:
        raise UsageError(f"{name} is larger than {MOST_BYTES >> 20} MiB; that is no solution to judge")
    return data


def _regular(name: str, mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = next((word for test, word in KINDS.items() if test(mode)), "no regular file")
        raise UsageError(f"{name} is {kind}; name a Python file")


def confirm(question: str, yes: bool) -> bool:
    """Asks in the terminal; `yes` has answered already. Raises UsageError where nobody can be asked."""
    if yes:
        return True
    if not sys.stdin.isatty():
        raise UsageError("this asks before it goes on, and there is no terminal to ask in; --yes answers yes")
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    answer = sys.stdin.readline()
    if not answer.endswith("\n"):  # Ctrl-D
        print(file=sys.stderr)
    return answer.strip().lower() in ("y", "yes")


def make_workspace(stderr: bool = False) -> None:
    """The workspace, made or brought up to date; says what was done. Raises UsageError where it cannot be."""
    try:
        said = workspace.ensure_package()
    except OSError as e:
        where = one_line(str(workspace.path()))
        raise UsageError(
            f"the workspace {where} cannot be made or brought up to date: {e.strerror or e} "
            "(MINI_LLM_WORKSPACE names another place)"
        ) from None
    for line in said:
        print(line, file=sys.stderr if stderr else sys.stdout)
