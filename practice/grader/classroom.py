"""What an instructor's folder holds: whose file answers which problem. Nothing in it is run, changed or written.

A student is a folder of the class's folder, or the front of a file's name: `alice_133.py`. Inside a student's
folder a file counts by its name, at any depth: `133.py`, `capture_sizes.py` and `133_capture_sizes.py` answer
problem 133; `buckets.py`, alone or in a workspace's `mini_llm/`, answers every problem that grows it. Of several
files for one problem, one that is named for it comes before a module, then the one that lies less deep. Two
that are alike in this and differ in content are not chosen between: a person has to.
"""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path

from grader import problems
from grader.problems import Problem
from grader.report import printable
from grader.usage import MOST_BYTES

SKIPPED = {"__pycache__", "__MACOSX", "venv", "site-packages", "node_modules"}  # hidden folders too
BACKUP = re.compile(r"~$|^#.*#$|\.(bak|old|orig|new|rej|swp|tmp)(\.py)?$|-checkpoint\.py$", re.I)
BACKUP_FOLDER = re.compile(r"(backup|bak|old)s?([-_. ].*)?", re.I)
JOINERS = "\u200c\u200d"  # format characters that names in Persian and in Indian scripts are spelled with


class NoClass(Exception):
    """The folder holds no class; the message is one clear sentence."""


@dataclass(frozen=True)
class Submission:
    """One file for one problem. `source` is None when it is too large to be a solution."""

    student: str
    problem: Problem
    path: str  # from the class's folder
    shown: str  # from the student's folder: what the student reads
    source: bytes | None
    package: bool  # a module of mini_llm: its relative imports work


@dataclass
class Classroom:
    """Everything found, and everything left out."""

    students: dict[str, dict[int, Submission]] = field(default_factory=dict)
    unclear: dict[tuple[str, int], str] = field(default_factory=dict)  # (student, problem): why no file was taken
    remarks: list[str] = field(default_factory=list)  # what was not taken, one sentence each

    @property
    def answered(self) -> list[int]:
        """The problems that anyone handed something in for."""
        found = {number for given in self.students.values() for number in given}
        return sorted(found | {number for _, number in self.unclear})

    def leave_out(self, student: str, why: str) -> None:
        """As if this student had handed in nothing, with a remark."""
        if self.students.pop(student, None) is not None:
            self.unclear = {key: said for key, said in self.unclear.items() if key[0] != student}
            self.remarks.append(f"The student {name_of(student)} is left out: {why}.")


@dataclass(frozen=True)
class _Candidate:
    rank: tuple[int, int]  # 0 for a file named for the problem, 1 for a module; then how deep it lies
    path: Path
    shown: str
    package: bool


def name_of(student: str) -> str:
    """A student's name as it may be printed: no control characters, nothing that turns the line around."""
    return "".join(c if c in JOINERS else printable(c).replace("\t", "\\t").replace("\n", "\\n") for c in student)


def read_class(folder: Path) -> Classroom:
    """Reads a class's folder. Raises NoClass when it is none, or one student's workspace."""
    if not folder.is_dir():
        raise NoClass(f"{folder} is no folder" if folder.exists() else f"there is no folder {folder}")
    if (folder / "mini_llm").is_dir():
        raise NoClass(f"{folder} looks like one student's workspace; name the folder that holds the students' folders")
    return _Reader(folder).read()


class _Reader:
    def __init__(self, folder: Path):
        self.folder = folder
        self.found: dict[str, dict[int, list[_Candidate]]] = {}
        self.said: list[str] = []
        self.left_out: dict[str, list[str]] = {}  # kind: paths
        self.meanings: dict[str, dict[int, tuple[int, bool]]] = {}  # a file's stem: {problem: (rank, package)}
        for problem in problems.load_all().values():
            module = Path(problem.module).stem
            for stem in (str(problem.id), problem.name, problem.slug, module):
                rank = 1 if stem == module != problem.name else 0
                self.meanings.setdefault(stem, {})[problem.id] = (rank, stem == module)

    def read(self) -> Classroom:
        for entry in self._entries(self.folder):
            if self._skip(entry):
                continue
            if entry.is_dir(follow_symlinks=False):
                student = _same_spelling(entry.name)
                self.found.setdefault(student, {})
                self._read_student(student, Path(entry.path))
            elif not self._by_kind(entry):
                self._read_flat(entry)
        room = Classroom()
        for student in sorted(self.found):
            room.students[student] = {}
            for number, candidates in sorted(self.found[student].items()):
                self._choose(room, student, number, candidates)
        room.remarks = self.said + [_listed(kind, paths) for kind, paths in self.left_out.items()]
        return room

    def _read_flat(self, entry: os.DirEntry) -> None:
        stem, key = entry.name[:-3], self._key(entry.name[:-3])
        student = _same_spelling(stem[: -len(key)].rstrip("_- ")) if key else ""
        if not key:
            self.said.append(f"{name_of(entry.name)} is left out: its name ends with no problem, as alice_133.py does.")
        elif not student.strip("_- "):
            self.said.append(f"{name_of(entry.name)} is left out: its name names no student, as alice_133.py does.")
        else:
            self._take(student, key, Path(entry.path), name_of(entry.name), 0)

    def _read_student(self, student: str, root: Path) -> None:
        folders = [root]
        while folders:
            folder = folders.pop()
            for entry in self._entries(folder):
                place = Path(entry.path)
                inside = place.relative_to(root)
                shown, depth = name_of(str(inside)), len(inside.parts)
                package = folder.name == "mini_llm"
                if self._skip(entry) or (package and entry.name not in problems.growing()):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    if BACKUP_FOLDER.fullmatch(entry.name):
                        self._leave_out("backups", place)
                    else:
                        folders.append(place)
                elif self._by_kind(entry):
                    pass
                elif key := self._own_key(place.stem, student):
                    self._take(student, key, place, shown, depth)
                elif entry.name != "judge.py":  # the workspace's launcher
                    self.said.append(f"{self._shown(place)} is left out: its name is that of no problem and no module.")

    def _own_key(self, stem: str, student: str) -> str:
        """Of a file in a student's folder: the whole name counts, or what follows the student's own."""
        if stem.lower() in self.meanings:
            return stem.lower()
        key = self._key(stem)
        front = _same_spelling(stem[: -len(key)].rstrip("_- ")) if key else ""
        return key if front and front.casefold() == student.casefold() else ""

    def _key(self, stem: str) -> str:
        """The longest name of a problem or module that a file's name is, or ends with behind `_`, `-` or a space."""
        fits = [k for k in self.meanings if re.search(rf"(?:^|[-_ ]){re.escape(k)}$", stem, re.I)]
        return max(fits, key=len, default="")

    def _take(self, student: str, key: str, path: Path, shown: str, depth: int) -> None:
        given = self.found.setdefault(student, {})
        for number, (rank, package) in self.meanings[key].items():
            given.setdefault(number, []).append(_Candidate((rank, depth), path, shown, package))

    def _choose(self, room: Classroom, student: str, number: int, candidates: list[_Candidate]) -> None:
        problem = problems.get(number)
        best = sorted((c for c in candidates if c.rank == min(x.rank for x in candidates)), key=lambda c: c.shown)
        try:
            sources = [_read(c.path) for c in best]
        except OSError as e:
            why = f"{best[0].shown} cannot be read: {e.strerror or e}"
            room.unclear[student, number] = why
            return
        if len(set(sources)) > 1:
            names = ", ".join(c.shown for c in best)
            room.unclear[student, number] = f"{names} differ, and either could be meant; leave one of them"
            return
        taken = best[0]
        path = os.path.relpath(taken.path, self.folder)
        room.students[student][number] = Submission(student, problem, path, taken.shown, sources[0], taken.package)
        if passed_over := [c.shown for c in candidates if c not in best]:
            self.said.append(
                f"{name_of(student)}: {taken.shown} counts for {number}; {', '.join(sorted(passed_over))} does not."
            )

    # -- what is left out ---------------------------------------------------------------------------------------

    def _entries(self, folder: Path) -> list[os.DirEntry]:
        try:
            with os.scandir(folder) as entries:
                return sorted(entries, key=lambda e: e.name)
        except OSError as e:
            self.said.append(f"{self._shown(folder)} cannot be read: {e.strerror}.")
            return []

    def _skip(self, entry: os.DirEntry) -> bool:
        """Whether nothing is looked for there: hidden, made by a program, or a link."""
        if entry.name.startswith(".") or entry.name in SKIPPED:
            return True
        if entry.is_symlink():
            self._leave_out("symbolic links, which are never followed", Path(entry.path))
            return True
        return False

    def _by_kind(self, entry: os.DirEntry) -> bool:
        """Whether a file is none to judge, whatever its name says; counted by its kind."""
        kind = ""
        if BACKUP.search(entry.name):
            kind = "backups"
        elif entry.name.lower().endswith(".ipynb"):
            kind = "notebooks, which are graded with nbgrader (course/INSTRUCTORS.md)"
        elif not entry.name.lower().endswith(".py") or not entry.is_file(follow_symlinks=False):
            kind = "other files"
        if kind:
            self._leave_out(kind, Path(entry.path))
        return bool(kind)

    def _leave_out(self, kind: str, place: Path) -> None:
        self.left_out.setdefault(kind, []).append(self._shown(place))

    def _shown(self, place: Path) -> str:
        return name_of(os.path.relpath(place, self.folder))


def _listed(kind: str, paths: list[str], most: int = 5) -> str:
    more = f" and {len(paths) - most} more" if len(paths) > most else ""
    return f"Left out, {kind}: {', '.join(sorted(paths)[:most])}{more}."


def _same_spelling(name: str) -> str:
    """One spelling of a name: a Mac's archives write an accent as a character of its own."""
    return unicodedata.normalize("NFC", name)


def _read(path: Path) -> bytes | None:
    """A file's bytes; None when it is too large. Waits for nothing: no link, no pipe."""
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode):
            raise OSError("it is no ordinary file")
        data = file.read(MOST_BYTES + 1)
    return data if len(data) <= MOST_BYTES else None
