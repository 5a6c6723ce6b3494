"""A module's source as pieces: its top-level statements, each with the comments that belong to it.

The text outside a replaced piece stays as it was, to the last blank. Used to make stubs, to keep the
workspace up to date, and by `%%grow`. Standard library only.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DEFINITIONS = (*FUNCTIONS, ast.ClassDef)
IMPORTS = (ast.Import, ast.ImportFrom)


@dataclass(frozen=True)
class Piece:
    """One top-level statement, or several that share a line.

    `text` is the statement with its decorators and the comments above it; `names` is what it binds;
    `start` and `end` are line numbers into the source, counted from 0, `end` excluded.
    """

    nodes: tuple[ast.stmt, ...]
    names: tuple[str, ...]
    text: str
    start: int
    end: int

    @property
    def is_import(self) -> bool:
        return all(isinstance(node, IMPORTS) for node in self.nodes)

    @property
    def is_definition(self) -> bool:
        """Whether a module may hold it: imports, constants, functions, classes, nothing that only runs."""
        return all(defines(node) for node in self.nodes)

    @property
    def is_docstring(self) -> bool:
        return is_string(self.nodes[0])


def is_string(node: ast.stmt) -> bool:
    """Whether a statement is a bare string, as docstrings are."""
    return isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str)


def split(source: str) -> list[Piece]:
    """The pieces of `source` in order. Raises SyntaxError when it does not parse."""
    lines = source.split("\n")
    found: list[Piece] = []
    for group in _by_line(ast.parse(source).body):
        start, end = first_line(group[0]) - 1, max(node.end_lineno for node in group)
        below = found[-1].end if found else 0
        while start > below and lines[start - 1].startswith("#") and not lines[start - 1].startswith("#!"):
            start -= 1
        names = tuple(dict.fromkeys(name for node in group for name in bound(node)))
        found.append(Piece(tuple(group), names, "\n".join(lines[start:end]).rstrip(), start, end))
    return found


def _by_line(body: Iterable[ast.stmt]) -> Iterator[list[ast.stmt]]:
    """Statements, those joined on one line by semicolons together."""
    group: list[ast.stmt] = []
    end = 0
    for node in body:
        if group and first_line(node) > end:
            yield group
            group = []
        group.append(node)
        end = max(end, node.end_lineno)
    if group:
        yield group


def first_line(node: ast.stmt) -> int:
    """The line a statement starts at, its decorators included."""
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(d.lineno for d in decorators)])


def bound(node: ast.stmt) -> list[str]:
    """The names that a top-level statement binds in its module ('*' for a star import)."""
    if isinstance(node, DEFINITIONS):
        return [node.name]
    if isinstance(node, IMPORTS):
        return [a.asname or a.name.split(".")[0] for a in node.names]
    if isinstance(node, ast.Assign):
        return [n for target in node.targets for n in _targets(target)]
    if isinstance(node, ast.AnnAssign | ast.AugAssign):
        return _targets(node.target)
    if type(node).__name__ == "TypeAlias":
        return [node.name.id]
    if isinstance(node, ast.If | ast.Try | ast.With):
        return [name for inner in _inner(node) for name in bound(inner)]
    return []


def _targets(target: ast.expr) -> list[str]:
    if isinstance(target, ast.Name):
        return [target.id]
    if isinstance(target, ast.Tuple | ast.List):
        return [n for element in target.elts for n in _targets(element)]
    return _targets(target.value) if isinstance(target, ast.Starred) else []


def _inner(node: ast.stmt) -> list[ast.stmt]:
    """The statements inside an `if`, `try` or `with`, every branch."""
    inner = [s for branch in ("body", "orelse", "finalbody") for s in getattr(node, branch, [])]
    return inner + [s for handler in getattr(node, "handlers", []) for s in handler.body]


def defines(node: ast.stmt) -> bool:
    """Whether a statement only defines names: `if` and `try` count when all their branches do."""
    if isinstance(node, ast.If | ast.Try):
        inner = _inner(node)
        return any(bound(s) for s in inner) and all(defines(s) or isinstance(s, ast.Pass) for s in inner)
    if isinstance(node, ast.With):
        return False
    return bool(bound(node))


def used(nodes: Iterable[ast.AST]) -> set[str]:
    """Every name that `nodes` mention; those in annotations and lists that are written as strings too."""
    names: set[str] = set()
    for top in nodes:
        prose = {id(node.value) for node in ast.walk(top) if isinstance(node, ast.Expr)}  # docstrings
        for node in ast.walk(top):
            if isinstance(node, ast.Name):
                names.add(node.id)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
                if re.fullmatch(r"[\w.\[\]|, ]{1,100}", node.value):
                    names.update(re.findall(r"[^\W\d]\w*", node.value))
    return names


def import_lines(nodes: Iterable[ast.stmt]) -> list[tuple[str, str]]:
    """Imports one by one: the name each binds, and the shortest statement that binds it."""
    found = []
    for node in nodes:
        for alias in node.names:
            what = alias.name + (f" as {alias.asname}" if alias.asname else "")
            if isinstance(node, ast.ImportFrom):
                what = f"from {'.' * node.level}{node.module or ''} import {what}"
            else:
                what = f"import {what}"
            found.append((alias.asname or alias.name.split(".")[0], what))
    return found


def binding(pieces: Iterable[Piece], names: Collection[str]) -> list[Piece]:
    """The pieces that bind at least one of `names`, in order."""
    return [p for p in pieces if not set(names).isdisjoint(p.names)]


def cut(source: str, pieces: Iterable[Piece], block: str = "", at: Piece | None = None) -> str:
    """`source` without `pieces`; `block` stands in the place of `at`, or at the end when `at` is None.

    Between a new block and its neighbours stand two blank lines; where a piece was taken out, the blank
    lines before it go too.
    """
    lines = source.split("\n")
    for piece in sorted({*pieces, *([at] if at else [])}, key=lambda p: p.start, reverse=True):
        start, end = piece.start, piece.end
        if piece is at and block:
            lines[start:end] = block.split("\n")
            continue
        while start > 0 and not lines[start - 1].strip():
            start -= 1
        if start == 0:
            while end < len(lines) and not lines[end].strip():
                end += 1
        lines[start:end] = []
    text = "\n".join(lines)
    if block and at is None:
        text = (text.rstrip("\n") + "\n\n\n" if text.strip() else "") + block + "\n"
    return text


def add_imports(source: str, statements: Iterable[str]) -> str:
    """`source` with one-line imports added below those at its head; the ones it has already are skipped."""
    there = {line for p in split(source) if p.is_import for _, line in import_lines(p.nodes)}
    new = [s for s in dict.fromkeys(statements) if s not in there]
    for first in (True, False):
        lines = [s for s in new if s.startswith("from __future__") == first]
        source = _add_imports(source, lines, first) if lines else source
    return source


def _add_imports(source: str, statements: list[str], first: bool) -> str:
    """All of them in one place: below the docstring (`first`), or below the imports there too."""
    lines = source.split("\n")
    spot, below_import = 0, False
    for piece in split(source):
        if piece.is_docstring or (piece.is_import and not first):
            spot, below_import = piece.end, piece.is_import
        else:
            break
    gap_above = [""] if spot and not below_import else []
    gap_below = [""] if lines[spot : spot + 1] != [""] and not first else []
    lines[spot:spot] = [*gap_above, *statements, *gap_below]
    return "\n".join(lines)
