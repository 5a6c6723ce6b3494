"""`reset` and `catch-up`: pieces of the course put into the learner's modules, and nothing lost.

`reset` puts the stubs of one problem back, `catch-up` the reference of all earlier chapters. Both first keep what
was there under `.course/backups/`, write each file whole or not at all, and leave every other piece as it is.
"""

from __future__ import annotations

import codecs
import re
import shutil
import stat
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from grader import problems, progress, workspace
from grader.cells import handed_out
from grader.growth import extract
from grader.pieces import Piece, add_imports, binding, cut, split, used
from grader.problems import ROOT, Problem
from grader.usage import (
    ACCEPTED,
    NOT_ACCEPTED,
    Parser,
    UsageError,
    confirm,
    from_here,
    make_workspace,
    one_line,
    read_file,
    typed,
    whole_number,
)

# -- texts --------------------------------------------------------------------------------------------------------


def put(mine: str, theirs: str, names: Collection[str], growing: Collection[str], handed: str) -> str:
    """`mine` with the functions and classes `names` as in `theirs`, and with what these need there.

    `growing` are all names that learners write in this module, `handed` is the module as it was handed out. What
    both of the two have and the learner changed stays the learner's; what only the reference's bodies use comes
    with them. Raises SyntaxError when a text does not parse.
    """
    base = {n for p in split(handed) for n in p.names}
    imports, wanted = extract(theirs, names, growing, "")
    for i in reversed(range(len(wanted))):  # from below: a new piece is put in front of the next one
        piece, pieces = wanted[i], split(mine)
        there = binding(pieces, piece.names)
        if not there:
            below = next((p for later in wanted[i + 1 :] for p in binding(pieces, later.names)), None)
            mine = cut(mine, [], f"{piece.text}\n\n\n{below.text}" if below else piece.text, at=below)
        elif _texts(there) != [piece.text] and (binding([piece], names) or not base.issuperset(piece.names)):
            mine = cut(mine, there[1:], piece.text, at=there[0])
    bound = {n for p in split(mine) for n in p.names}
    return add_imports(mine, [line for line in imports if bound.isdisjoint(split(line)[0].names)])


def _texts(pieces: Iterable[Piece]) -> list[str]:
    return [p.text for p in pieces]


def used_only_by(names: Collection[str], mine: str, given: Collection[str]) -> list[Piece]:
    """The pieces of the learner's own, none that bind a name of `given`, that nothing but `names` uses."""
    pieces = split(mine)
    own = binding(pieces, names)
    free = [p for p in pieces if p.names and not p.is_import and p not in own and not binding([p], given)]

    def reached(start: list[Piece]) -> list[Piece]:
        found: list[Piece] = []
        while True:
            wanted = used(n for p in [*start, *found] for n in p.nodes)
            fresh = [p for p in binding(free, wanted) if p not in found]
            if not fresh:
                return found
            found += fresh

    from_own = reached(own)
    from_others = reached([p for p in pieces if p not in own and p not in from_own])
    return [p for p in from_own if p not in from_others]


# -- files --------------------------------------------------------------------------------------------------------


class Unreadable(Exception):
    """A file whose functions cannot be told apart; the message is a clause that names it."""


@dataclass(frozen=True)
class Change:
    """One file: what it holds, what it is to hold, and the names that this is about."""

    place: Path
    old: bytes
    new: bytes
    names: tuple[str, ...]
    others: tuple[str, ...] = ()  # the learner's own helpers that go with them


def module_text(place: Path, data: bytes) -> str:
    """A module's text with plain line ends. Raises Unreadable."""
    try:
        text = data.decode("utf-8-sig").replace("\r\n", "\n")
        split(text)
    except SyntaxError as e:
        where = f", line {e.lineno}," if e.lineno else ""
        raise Unreadable(f"{workspace.shown(place)}{where} is no valid Python ({e.msg})") from None
    except (ValueError, RecursionError, MemoryError):
        raise Unreadable(f"{workspace.shown(place)} cannot be read as Python") from None
    return text


def as_it_was(text: str, old: bytes) -> bytes:
    """A text as bytes, with the line ends and the mark at the beginning that the file had."""
    if b"\r\n" in old:
        text = text.replace("\n", "\r\n")
    return (codecs.BOM_UTF8 if old.startswith(codecs.BOM_UTF8) else b"") + text.encode()


def differing(old: str, new: str, names: Iterable[str]) -> tuple[str, ...]:
    before, after = split(old), split(new)
    return tuple(n for n in names if _texts(binding(before, [n])) != _texts(binding(after, [n])))


def keep(what: Path) -> Path:
    """Copies a file or a folder of the workspace under `.course/backups/`; where the copy is. Raises UsageError."""
    ws = workspace.path()
    stamp, count = time.strftime("%Y%m%d-%H%M%S"), 1
    try:
        while True:
            folder = ws / ".course" / "backups" / (stamp if count == 1 else f"{stamp}-{count}")
            try:
                folder.mkdir(parents=True)
                break
            except FileExistsError:
                count += 1
        kept = folder / what.relative_to(ws)
        if what.is_dir():
            shutil.copytree(what, kept, ignore=_not_kept)
        else:
            kept.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(what, kept)
    except (OSError, shutil.Error) as e:
        why = getattr(e, "strerror", None) or str(e)
        raise UsageError(f"no backup could be made ({one_line(why, 200)}), so nothing was changed") from None
    return kept


def _not_kept(folder: str, names: list[str]) -> set[str]:
    """Caches, and what is no file or folder: pipes, links to nowhere or to folders elsewhere."""

    def odd(place: Path) -> bool:
        try:
            mode = place.stat().st_mode
        except OSError:
            return True
        return not stat.S_ISREG(mode) and (not stat.S_ISDIR(mode) or place.is_symlink())

    return {n for n in names if n == "__pycache__" or odd(Path(folder) / n)}


def write_all(changes: list[Change], kept: Path) -> None:
    """Writes each file whole or not at all. Raises UsageError, which names the backup."""
    for change in changes:
        try:
            workspace.write(change.place, change.new)
        except OSError as e:
            raise UsageError(
                f"{workspace.shown(change.place)} cannot be written ({e.strerror}); "
                f"all that was there is in {workspace.shown(kept)}"
            ) from None


# -- reset --------------------------------------------------------------------------------------------------------


def reset(argv: list[str], prog: str) -> int:
    parser = Parser(
        prog,
        "reset",
        "Puts the stubs of a problem's functions back into your module, so that you can begin again. What you had is "
        "kept in a backup, and the command that brings it back is printed. Asks first.",
    )
    parser.takes_problem()
    parser.add_argument("--whole-file", action="store_true", help="the whole module as it was handed out")
    parser.add_argument("--yes", action="store_true", help="do it without asking")
    args = parser.parse_args(argv)
    problem = parser.problem_of(args)
    make_workspace()
    change = _plan_reset(problem, args.whole_file)
    file = workspace.shown(change.place)
    if change.new == change.old:
        print(f"Nothing to reset: in {file}, {_list(change.names)} {_are(change.names)} as handed out.")
        return ACCEPTED
    what = "the whole module" if args.whole_file else f"the stubs of {_list(change.names)}"
    if not confirm(f"Put {what} back into {file}? A backup of it is kept.", args.yes):
        print("Nothing was changed.")
        return NOT_ACCEPTED
    change = _plan_reset(problem, args.whole_file)  # the file may have been saved while the question stood
    kept = keep(change.place)
    write_all([change], kept)
    progress.remember(problem, hints=0)
    print(f"{file}: {_list(change.names)} {_are(change.names)} as handed out.")
    if change.others:
        print(f"Taken out as well, since nothing else uses it: {_list(change.others)}.")
    print("What you had comes back with:")
    print(f"  cp {from_here(kept)} {from_here(change.place)}")
    print(f"Begin again: python {typed(prog)} start {problem.id}")
    return ACCEPTED


def _plan_reset(problem: Problem, whole: bool) -> Change:
    place, handed = workspace.learner_file(problem), handed_out(problem.module)
    old, growing = read_file(place), problems.growing()[problem.module]
    if whole:
        return Change(place, old, handed.encode(), tuple(growing))
    try:
        text = module_text(place, old)
    except Unreadable as e:
        raise UsageError(
            f"{e}, so one function cannot be told from another; correct it, or put the whole module back with "
            f"`judge.py reset {problem.id} --whole-file`"
        ) from None
    given = {n for p in split(handed) for n in p.names} | set(growing)
    alone = [p for p in used_only_by(problem.names, text, given) if not _elsewhere(place, p.names)]
    new = put(cut(text, alone), handed, problem.names, growing, handed)
    if new == text:
        return Change(place, old, old, problem.names)
    others = tuple(n for p in alone for n in p.names)
    return Change(place, old, as_it_was(new, old), differing(text, new, problem.names), others)


def _elsewhere(place: Path, names: Collection[str]) -> bool:
    """Whether another module of the learner's package mentions one of the names."""
    words = re.compile(rf"\b({'|'.join(map(re.escape, names))})\b".encode())
    package = workspace.path() / "mini_llm"
    return any(words.search(f.read_bytes()) for f in package.rglob("*.py") if f.is_file() and f != place)


# -- catch-up -----------------------------------------------------------------------------------------------------


def catch_up(argv: list[str], prog: str) -> int:
    parser = Parser(
        prog,
        "catch-up",
        "Brings your package to the state that a chapter begins with: all that earlier chapters grow is as in the "
        "course's own package. What you wrote for that chapter and later ones stays. The whole of your mini_llm is "
        "kept in a backup first. Asks first.",
    )
    last = max(p.chapter for p in problems.load_all().values())
    parser.add_argument("chapter", nargs="?", metavar="CHAPTER", help=f"1 to {last}; {last + 1} stands for all done")
    parser.add_argument("--yes", action="store_true", help="do it without asking")
    args = parser.parse_args(argv)
    chapter = _chapter(args.chapter, last)
    make_workspace()
    before = f"what chapters before {chapter} grow"
    changes = _plan_catch_up(chapter)
    if not changes:
        print(f"Nothing to do: {before} is in your package as in the course's.")
        return _say_untouched()
    print(f"To catch up with chapter {chapter}, these become the course's own:")
    for change in changes:
        print(f"  {workspace.shown(change.place)}: {_list(change.names) or 'helpers'}")
    names = {name for change in changes for name in change.names}
    own = [str(p.id) for p in _earlier(chapter) if names.intersection(p.names) and progress.status(p) == "accepted"]
    if own:
        print(f"Among them are solutions of yours that were accepted: {_list(own)}.")
    if not confirm("Go on? Your whole mini_llm is kept in a backup first.", args.yes):
        print("Nothing was changed.")
        return NOT_ACCEPTED
    changes = _plan_catch_up(chapter)
    package = workspace.path() / "mini_llm"
    kept = keep(package)
    write_all(changes, kept)
    for problem in _earlier(chapter):
        source = workspace.learner_file(problem).read_bytes()
        progress.remember(problem, given={part: progress.mark(source, part) for part in problem.parts})
    print(f"Done: {before} is in your package, and what you wrote for later chapters is as it was.")
    print("All that you had comes back with:")
    print(f"  cp -R {from_here(kept)}/. {from_here(package)}/")
    print("An open notebook sees the change when its kernel is restarted.")
    return _say_untouched()


def _chapter(text: str | None, last: int) -> int:
    if text is None:
        raise UsageError("name a chapter, as in `judge.py catch-up 3`")
    try:
        chapter = whole_number(text)
    except Exception:
        chapter = 0
    if not 1 <= chapter <= last + 1:
        raise UsageError(f"there is no chapter {text}; there are 1 to {last}, and {last + 1} stands for all done")
    return chapter


def _earlier(chapter: int) -> list[Problem]:
    return [p for p in problems.load_all().values() if p.chapter < chapter]


def _plan_catch_up(chapter: int) -> list[Change]:
    """Every file that has to change. Raises UsageError before anything is changed."""
    changes = []
    for module, about in problems.growing().items():
        early = [name for name, (_, when) in about.items() if when < chapter]
        if not early:
            continue
        place = workspace.path() / "mini_llm" / module
        reference = (ROOT / "mini_llm" / module).read_text(encoding="utf-8")
        old = read_file(place)
        try:
            text = module_text(place, old)
        except Unreadable as e:
            if len(early) < len(about):
                raise UsageError(
                    f"{e}, and it has functions of later chapters too, which are not to be lost; correct it first"
                ) from None
            changes.append(Change(place, old, reference.encode(), tuple(early)))
            continue
        new = put(text, reference, early, about, handed_out(module))
        if new != text:
            changes.append(Change(place, old, as_it_was(new, old), differing(text, new, early)))
    return changes


def _say_untouched() -> int:
    """Names the files that work from the beginning and that the learner changed: they were left alone."""
    ws, grown = workspace.path(), problems.growing()
    for name, handed in sorted(workspace.read_manifest(ws).get("files", {}).items()):
        place = ws / name
        if name.removeprefix("mini_llm/") in grown or not place.is_file() or place.suffix != ".py":
            continue
        if workspace.sha(place.read_bytes()) != handed:
            print(f"{workspace.shown(place)} has changes of yours and stays so.")
    return ACCEPTED


def _list(names: Collection[str]) -> str:
    *most, end = names or [""]
    return f"{', '.join(most)} and {end}" if most else end


def _are(names: Collection[str]) -> str:
    return "are" if len(names) > 1 else "is"
