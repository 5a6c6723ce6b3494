"""The answer cells of a notebook: reading them, and what they and the learner's file say of each other.

The answer cell is what is graded, so grading assembles a module from the cells, by the same rules that
`%%grow` writes the file. Notebooks are read as plain JSON: no nbformat, no kernel. Standard library only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.growth import Cell, Entry, Refusal, Untouched, grow, read_cell
from grader.pieces import split
from grader.problems import ROOT, Problem, growing, load_all
from grader.stubs import stub_module
from grader.workspace import path

GRADED = "This verdict is for the file. In a class the cell is graded: run it to bring the two together."
GRADE_ID = re.compile(r"answer-(\d+)-(\w+)")


@dataclass(frozen=True)
class Answer:
    """One answer cell: `answer-133-pad_to` answers part `pad_to` of problem 133, in module `buckets.py`."""

    grade_id: str
    problem: int
    part: str
    module: str
    source: str
    index: int  # of the cell in its notebook, from 0


@dataclass(frozen=True)
class Assembled:
    """A module made of answer cells, and the cells left out: (grade_id, the reason as a clause)."""

    module: str
    source: str
    left_out: tuple[tuple[str, str], ...]


def answers(notebook: Path | str | Mapping) -> list[Answer]:
    """The answer cells of a notebook (a path, or the notebook as read), in order, duplicates included.

    A damaged file raises ValueError; a cell for a problem that does not exist is no answer.
    """
    if not isinstance(notebook, Mapping):
        notebook = json.loads(Path(notebook).read_text(encoding="utf-8"))
    problems, found = load_all(), []
    for index, cell in enumerate(notebook.get("cells", [])):
        about = cell.get("metadata", {}).get("nbgrader") or {}
        match = GRADE_ID.fullmatch(str(about.get("grade_id", "")))
        problem = problems.get(int(match[1])) if match else None
        if problem and cell.get("cell_type") == "code" and match[2] in problem.names:
            source = cell.get("source", "")
            source = source if isinstance(source, str) else "".join(source)
            found.append(Answer(match[0], problem.id, match[2], problem.module, source, index))
    return found


def handed_out(module: str) -> str:
    """The module as the course hands it out: the reference with everything that grows stubbed."""
    source = (ROOT / "mini_llm" / module).read_text(encoding="utf-8")
    return stub_module(source, {name: chapter for name, (_, chapter) in growing()[module].items()})


def assemble(cells: Iterable[Answer], module: str) -> Assembled:
    """The module that a notebook's answers make of what was handed out.

    A cell that does not parse, is still the stub, or cannot be grown is left out with its reason; the
    others count.
    """
    base = source = handed_out(module)
    names = growing()[module]
    entries: list[Entry] = []
    left_out = []
    for answer in cells:
        if answer.module != module:
            continue
        try:
            change = grow(source, read_cell(answer.source), entries, names, base, take_cell=True)
            source, entries = change.source, change.entries
        except Untouched:
            left_out.append((answer.grade_id, "it still holds the stub"))
        except SyntaxError as e:
            where = f"line {e.lineno}" if e.lineno else "it"  # a null byte has no line
            left_out.append((answer.grade_id, f"{where} is no valid Python ({e.msg})"))
        except ValueError as e:  # half of a surrogate pair, for one
            left_out.append((answer.grade_id, f"it cannot be read as Python ({e})"))
        except (RecursionError, MemoryError):
            left_out.append((answer.grade_id, "it is nested too deeply to be read as Python"))
        except Refusal as e:
            left_out.append((answer.grade_id, str(e)))
    return Assembled(module, source, tuple(left_out))


def read_state(ws: Path) -> dict[str, list[tuple[Entry, float]]]:
    """What cells put into the workspace's modules: {module: [(entry, when)]}; empty when damaged."""
    try:
        raw = json.loads((ws / ".course" / "grown.json").read_text(encoding="utf-8"))
        return {
            module: [
                (Entry(tuple(e["names"]), tuple(e["pieces"]), tuple(e["imports"])), float(e["at"]))
                for e in found
            ]
            for module, found in raw.items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def differences(problem: Problem, source: str | None = None, ws: Path | None = None) -> list[str]:
    """One sentence for each function of `problem` whose answer cell and whose piece in the file differ.

    `source` is the learner's file, read from the workspace `ws` when it is not given. Compares with the
    notebooks as they were saved last. Where the file was grown after that, only an edit made in the file
    since counts. Nothing to say when there is no file, no notebook, or no difference.
    """
    ws = ws or path()
    try:
        if source is None:
            source = (ws / "mini_llm" / problem.module).read_text(encoding="utf-8")
        pieces = split(source)
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return []
    texts = {p.text for p in pieces}
    grown = read_state(ws).get(problem.module, [])
    saved = _saved_answers(problem, ws)
    said = []
    for name in problem.names:
        entry, at = next((e for e in grown if name in e[0].names), (None, 0.0))
        where = f"mini_llm/{problem.module}"
        if entry and not set(entry.pieces) <= texts:
            said.append(f"{name}: {where} was edited after its answer cell had written it. {GRADED}")
        elif name in saved and saved[name][0].stat().st_mtime >= at:
            notebook, answer = saved[name]
            said += _compare(name, notebook.name, answer, where, texts, pieces, growing()[problem.module])
    return said


def _saved_answers(problem: Problem, ws: Path) -> dict[str, tuple[Path, Answer]]:
    """The answer cell of each part, from the notebook that was saved last."""
    found = {}
    notebooks = [n for n in ws.glob("*.ipynb") if not n.name.endswith(".new.ipynb")]
    for notebook in sorted(notebooks, key=lambda n: n.stat().st_mtime):
        try:
            found |= {a.part: (notebook, a) for a in answers(notebook) if a.problem == problem.id}
        except (OSError, ValueError, AttributeError, RecursionError):
            continue  # not a notebook, or one that is being written: nothing to compare with
    return found


def _compare(name, notebook, answer, where, texts, pieces, names) -> list[str]:
    try:
        cell = read_cell(answer.source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return [f"{name}: its answer cell in {notebook} does not parse. {GRADED}"]
    if name in cell.names(names):
        same = {p.text for p in cell.written(names)} <= texts
        return [] if same else [f"{name}: its answer cell in {notebook} and {where} differ. {GRADED}"]
    if Cell("", tuple(pieces)).names([name]):
        return [f"{name}: {where} has it, its answer cell in {notebook} does not. {GRADED}"]
    return []
