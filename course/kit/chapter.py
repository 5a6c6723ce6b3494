"""A chapter's text (MyST) as a notebook: the parsing, the cell ids, and which cells may wait for the learner.

What the special cells turn into stands in `directives.py`.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

import jupytext
from nbformat import NotebookNode
from nbformat.v4 import new_notebook

from grader.pieces import bound, split, used
from grader.problems import ROOT, ProblemError, growing
from kit.directives import DIRECTIVES, expand
from kit.waiting import left_by

CELLS = ("code-cell", "raw-cell")  # what MyST itself turns into cells
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}


class ChapterError(Exception):
    """A chapter cannot be built; the message is one sentence that names the file and the line."""


@dataclass(frozen=True)
class Fence:
    """A block of the form ```{name} args, at line `line` (from 1)."""

    name: str
    args: tuple[str, ...]
    body: str
    line: int
    end: int  # the line after its closing fence, from 0


def build(path: Path) -> NotebookNode:
    """The source notebook of a chapter. The same text gives the same notebook, to the last byte."""
    text = path.read_text(encoding="utf-8")

    def fail(line: int, why: str):
        raise ChapterError(f"{path.name}, line {line}: {why}") from None

    fences = _fences(text, fail)
    try:
        parsed = jupytext.reads(_marked(text, fences), fmt="md:myst")
    except (
        Exception
    ) as e:  # jupytext raises several kinds; all of them mean that the text is no MyST notebook
        fail(1, f"this is no MyST notebook ({e}).")
    by_line = {f.line: f for f in fences}
    cells: list[NotebookNode] = []
    ids = _Ids(path.stem)
    waits = set(waiting_names())
    for cell in parsed.cells:
        line = cell.metadata.pop("kit_line", 0)
        fence = by_line.get(line)
        ids.under(cell.source if cell.cell_type == "markdown" else "")
        if fence and fence.name in DIRECTIVES:
            try:
                made = expand(fence.name, fence.args, fence.body)
            except (ValueError, ProblemError) as e:
                fail(line, f"```{{{fence.name}}} {' '.join(fence.args)}: {e}")
        else:
            made = [cell]
            if cell.cell_type == "code":
                _tag_waiting(cell, waits, lambda why, line=line: fail(line, why))
        for one in made:
            grade_id = one.metadata.get("nbgrader", {}).get("grade_id")
            if grade_id and any(c.id == grade_id for c in cells):
                fail(line, f"there already is a cell `{grade_id}` above; each can stand in a chapter once.")
            one.id = grade_id or ids.next(one.cell_type)
            cells.append(one)
    metadata = {"kernelspec": KERNEL, "language_info": {"name": "python"}}
    return new_notebook(cells=cells, metadata=metadata, nbformat_minor=5)


def _fences(text: str, fail) -> list[Fence]:
    """The blocks with a {name}, in order; refuses unknown names and indented ones."""
    from jupytext.myst import get_parser

    found = []
    known = (*CELLS, *DIRECTIVES)
    for token in get_parser().parse(text):
        match = re.match(r"\{([\w-]+)\}(.*)", token.info) if token.type == "fence" else None
        if not match:
            continue
        name, line = match[1], token.map[0] + 1
        if name not in known:
            fail(line, f"there is no cell {{{name}}}; there are {', '.join(f'{{{k}}}' for k in known)}.")
        if token.level:
            fail(line, f"{{{name}}} must start at the left margin, outside lists and quotes.")
        if text.split("\n")[token.map[1] - 1].strip(" `") or token.map[1] - token.map[0] < 2:
            fail(line, f"{{{name}}} is not closed by ``` on a line of its own.")
        found.append(Fence(name, tuple(match[2].split()), token.content.strip("\n"), line, token.map[1]))
    return found


def _marked(text: str, fences: list[Fence]) -> str:
    """The text for jupytext: each cell knows the line it came from, and ours are code cells without code."""
    lines = text.split("\n")
    for fence in reversed(fences):
        start, mark = fence.line - 1, f"kit_line: {fence.line}"
        if fence.name in DIRECTIVES:
            lines[start : fence.end] = ["```{code-cell} ipython3", f":{mark}", "```"]
        elif lines[fence.line].startswith("---"):
            lines.insert(fence.line + 1, mark)
        else:
            lines.insert(fence.line, f":{mark}")
    return "\n".join(lines)


class _Ids:
    """Cell ids that do not depend on the place in the chapter: by heading, kind and count under it."""

    def __init__(self, chapter: str):
        self.chapter, self.heading, self.seen = chapter, "", {}

    def under(self, source: str) -> None:
        if match := re.match(r"#+ +(.+)", source):
            self.heading = match[1].strip()

    def next(self, kind: str) -> str:
        key = f"{self.chapter}|{self.heading}|{kind}"
        self.seen[key] = self.seen.get(key, 0) + 1
        return hashlib.sha256(f"{key}|{self.seen[key]}".encode()).hexdigest()[:12]


def _tag_waiting(cell: NotebookNode, waits: set[str], fail) -> None:
    """Tags a cell that uses what the learner has yet to write, so that 'Run All' goes on below it.

    What such a cell defines is missing then, so cells that use those names wait too.
    """
    source = cell.source
    if source.startswith("%%"):
        return
    python = "\n".join("" if line.startswith(("%", "!")) else line for line in source.split("\n"))
    try:
        tree = ast.parse(python)
    except SyntaxError as e:
        fail(f"line {e.lineno} of this cell is no valid Python ({e.msg}).")
    runs = False
    defined: set[str] = set()
    for node in tree.body:
        function = isinstance(node, ast.FunctionDef | ast.ClassDef)
        waiting = not waits.isdisjoint(_reads(node, locals_=function))
        if function:
            # Defining it is harmless; whoever calls it waits.
            (waits.add if waiting else waits.discard)(node.name)
        elif waiting:
            runs = True
        elif not runs:
            waits -= set(bound(node))
        defined |= left_by(ast.Module([node], []))
    if runs:
        cell.metadata["tags"] = [*cell.metadata.get("tags", []), "raises-exception"]
        waits |= defined


def _reads(node: ast.stmt, locals_: bool) -> set[str]:
    """The names and attributes a statement reads; `locals_`: less those it binds, as a function does."""
    names = [n for n in ast.walk(node) if isinstance(n, ast.Name)]
    reads = {n.id for n in names if isinstance(n.ctx, ast.Load)}
    if locals_:
        reads -= {n.id for n in names if isinstance(n.ctx, ast.Store)}
        reads -= {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)}
    return reads | {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}


@functools.cache
def waiting_names() -> frozenset[str]:
    """All of mini_llm that raises before a learner wrote anything: what grows, and what uses that."""
    waits = {name for names in growing().values() for name in names}
    pieces = [
        p for f in sorted((ROOT / "mini_llm").glob("*.py")) for p in split(f.read_text(encoding="utf-8"))
    ]
    while (
        fresh := {
            n for p in pieces for n in p.names if not p.is_import and not used(p.nodes).isdisjoint(waits)
        }
        - waits
    ):
        waits |= fresh
    return frozenset(n for n in waits if not n.startswith("_"))
