"""The problems: each folder's `problem.md` is its manifest and its text.

The front matter (YAML between two `---` lines) states once what everything else is built from: the stubs in
the workspace (`grows`), the score (`parts`), the limits of the worker (`limits`). The body holds the sections
`## Statement`, `## 题目`, `## Hints` (with `### Hint 1`, `### Hint 2`, ...) and `## Explanation`; in Chinese too,
where somebody wrote them, `## 提示` (with `### 提示 1`, ...) and `## 讲解`.
"""

from __future__ import annotations

import functools
import importlib.util
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROBLEMS = ROOT / "practice" / "problems"
MADE = "make learn installs it"
LACKING = {"triton": "pip install triton; there is one for Linux only"}  # how to get what not every system has
LEVELS = ("easy", "medium", "hard")


class ProblemError(Exception):
    """The caller named no problem, or a problem's manifest is wrong; the message is one clear sentence."""


@dataclass(frozen=True)
class Part:
    """A function graded on its own: how many hidden tests it has, and its points in a class."""

    tests: int
    points: float


@dataclass(frozen=True)
class Limits:
    """Of one worker: seconds to import the file, seconds per call, MiB of memory, MiB of one answer."""

    import_s: float = 3.0
    call_s: float = 5.0
    memory_mib: int = 2048
    reply_mib: int = 1


@dataclass(frozen=True)
class Problem:
    """One problem, as its front matter states it."""

    id: int
    name: str
    title: str
    title_zh: str
    chapter: int
    level: str
    minutes: int
    needs: tuple[str, ...]  # packages beyond the standard library; with torch, tensors cross
    optional: bool  # not part of what a chapter asks for
    module: str  # the file inside mini_llm/ that this problem grows
    names: tuple[str, ...]  # the functions and classes it grows there
    parts: dict[str, Part]
    limits: Limits
    folder: Path
    body: str

    @property
    def slug(self) -> str:
        return f"{self.id}_{self.name}"

    @property
    def home(self) -> str:
        """The dotted name of the module that it grows: `mini_llm.buckets`."""
        return f"mini_llm.{self.module.removesuffix('.py').replace('/', '.')}"

    @property
    def torch(self) -> bool:
        """Whether tensors cross: then the worker's parent imports torch once, and so does the judge."""
        return "torch" in self.needs

    @property
    def lacks(self) -> str:
        """One sentence that names what this problem needs and this Python has not; '' when nothing is missing."""
        for package in self.needs:
            if importlib.util.find_spec(package) is None:
                return f"problem {self.id} needs {package}, which is not installed here ({LACKING.get(package, MADE)})"
        return ""

    @property
    def hidden_tests(self) -> int:
        """How many hidden tests must run for a verdict to count."""
        return sum(part.tests for part in self.parts.values())

    def section(self, heading: str) -> str:
        """The text under `## heading`, without the heading; '' when there is none."""
        match = re.search(rf"^## {re.escape(heading)}\s*\n(.*?)(?=^## |\Z)", self.body, re.M | re.S)
        return match[1].strip() if match else ""

    @property
    def hints(self) -> list[str]:
        return _numbered(self.section("Hints"))

    @property
    def hints_zh(self) -> list[str]:
        """The hints in Chinese, `### 提示 1` and on under `## 提示`; none when the problem has only English ones."""
        return _numbered(self.section("提示"))

    def part_of(self, test: str) -> str:
        """The part that the test function `test_<part>_<property>` belongs to."""
        fits = [p for p in self.parts if test.startswith(f"test_{p}_")]
        if not fits:
            raise ProblemError(
                f"{self.slug}: the test {test} names no part; its name must start with "
                f"test_ and one of {', '.join(self.parts)}."
            )
        return max(fits, key=len)


def _numbered(section: str) -> list[str]:
    pieces = re.split(r"^### (?:Hint|提示) *\d+\s*\n", section, flags=re.M)
    return [piece.strip() for piece in pieces[1:]]


def _read(path: Path) -> Problem:
    import yaml

    text = path.read_text(encoding="utf-8")
    match = re.match(r"---\n(.*?)\n---\n(.*)", text, re.S)
    where = f"{path.parent.name}/problem.md"
    if not match:
        raise ProblemError(f"{where} must start with a front matter between two lines of ---.")
    try:
        front = yaml.safe_load(match[1])
        grows = front["grows"]
        problem = Problem(
            id=front["id"],
            name=front["name"],
            title=front["title"],
            title_zh=front["title_zh"],
            chapter=front["chapter"],
            level=front["level"],
            minutes=front["minutes"],
            needs=tuple(front.get("needs", ())),
            optional=bool(front.get("optional", False)),
            module=grows["module"],
            names=tuple(grows["names"]),
            parts={name: Part(**part) for name, part in front["parts"].items()},
            limits=Limits(**front.get("limits", {})),
            folder=path.parent,
            body=match[2],
        )
    except yaml.YAMLError as e:
        raise ProblemError(f"{where}: the front matter is not valid YAML ({str(e).splitlines()[0]}).") from None
    except KeyError as e:
        raise ProblemError(f"{where}: the front matter lacks {e.args[0]!r}.") from None
    except TypeError as e:
        raise ProblemError(f"{where}: the front matter has a field it should not have ({e}).") from None
    if path.parent.name != problem.slug:
        raise ProblemError(f"{where}: the folder must be named {problem.slug}.")
    if problem.level not in LEVELS:
        raise ProblemError(f"{where}: level must be one of {', '.join(LEVELS)}.")
    return problem


@functools.cache
def load_all() -> dict[int, Problem]:
    """Every problem, by its number, in order."""
    found = [_read(path) for path in PROBLEMS.glob("*/problem.md")]
    return {p.id: p for p in sorted(found, key=lambda p: p.id)}


def get(which: int | str) -> Problem:
    """The problem with this number or name; ProblemError names the ones there are."""
    problems = load_all()
    text = str(which)
    for problem in problems.values():
        if text in (str(problem.id), problem.name, problem.slug):
            return problem
    there = ", ".join(str(i) for i in problems)
    raise ProblemError(f"there is no problem {text}; there are {there} (`judge.py list` shows their titles).")


def growing() -> dict[str, dict[str, tuple[int, int]]]:
    """What learners write: {module: {name: (problem, chapter)}}, from every problem's `grows`."""
    found: dict[str, dict[str, tuple[int, int]]] = {}
    for problem in load_all().values():
        for name in problem.names:
            found.setdefault(problem.module, {})[name] = (problem.id, problem.chapter)
    return found
