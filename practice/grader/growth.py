"""What `%%grow` does to a module's text: pure functions from texts to texts, no notebook and no files.

A cell's definitions replace what the same cell put there before; the rest of the module is untouched. An
edit made in the file since is never overwritten: `Edited` is raised instead, with both sides. Grading
assembles a notebook's answer cells with the same functions. Standard library only.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace

from grader.pieces import (
    DEFINITIONS,
    Piece,
    add_imports,
    binding,
    cut,
    import_lines,
    split,
    used,
)
from grader.stubs import is_stub

HEADER = re.compile(r"\s*%%grow\b(.*)")
MARKER = re.compile(r"\s*### (BEGIN|END) SOLUTION\s*")  # nbgrader's, in source notebooks


class Refusal(Exception):
    """The cell cannot be grown as it is; the message is one sentence that says what to do."""


class Untouched(Refusal):
    """The cell still holds the stub."""


@dataclass(frozen=True)
class Entry:
    """What one cell last put into a module: the growing names it is for, its pieces, its imports."""

    names: tuple[str, ...]
    pieces: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()

    @property
    def bound(self) -> set[str]:
        return {name for text in self.pieces for piece in split(text) for name in piece.names}

    def without(self, names: Collection[str]) -> Entry:
        """This entry after another cell took over some of its names."""
        kept = tuple(t for t in self.pieces if not binding(split(t), names))
        return replace(self, names=tuple(n for n in self.names if n not in names), pieces=kept)


@dataclass(frozen=True)
class Change:
    """A module's new text, the entries that describe it, and the names that came and went."""

    source: str
    entries: list[Entry]
    put: tuple[str, ...]
    removed: tuple[str, ...]


class Edited(Exception):
    """The file's piece is not what the cell last wrote: `file` and `cell` are the two texts."""

    def __init__(self, names: tuple[str, ...], file: str, cell: str):
        super().__init__(f"{', '.join(names)} was edited in the file")
        self.names, self.file, self.cell = names, file, cell


@dataclass(frozen=True)
class Cell:
    """An answer cell, read: what a module may hold, and what only runs in the notebook."""

    target: str  # what follows %%grow, '' without that line
    definitions: tuple[Piece, ...]
    scraps: tuple[Piece, ...] = field(default=())

    def stubs(self, growing: Collection[str]) -> list[str]:
        """The growing names that are still stubs in this cell."""
        return [n for p in binding(self.definitions, growing) if is_stub(p.nodes[0]) for n in p.names]

    def written(self, growing: Collection[str]) -> list[Piece]:
        """The pieces to put into the module: no imports, no stubs of what is to be written."""
        stubs = set(self.stubs(growing))
        pieces = [p for p in self.definitions if not p.is_import]
        return [p for p in pieces if not (is_stub(p.nodes[0]) and stubs.intersection(p.names))]

    def names(self, growing: Collection[str]) -> tuple[str, ...]:
        """The growing names that this cell defines in earnest."""
        return tuple(dict.fromkeys(n for p in self.written(growing) for n in p.names if n in growing))


def read_cell(source: str) -> Cell:
    """Reads a cell, with or without its %%grow line. Raises SyntaxError with the cell's own line numbers."""
    lines = source.replace("\r\n", "\n").split("\n")
    first = next((i for i, line in enumerate(lines) if line.strip()), 0)
    header = HEADER.fullmatch(lines[first]) if lines else None
    if header:
        lines[first] = ""
    pieces = split("\n".join("" if MARKER.fullmatch(line) else line for line in lines))
    definitions, scraps, below = [], [], 0
    for piece in pieces:
        # Comments stay with the definition under them, also across blank lines.
        comments = [line for line in lines[below : piece.start] if line.startswith("#") and not MARKER.fullmatch(line)]
        below = piece.end
        if piece.is_definition:
            definitions.append(replace(piece, text="\n".join([*comments, piece.text])))
        elif not piece.is_docstring:
            scraps.append(piece)
    return Cell(header[1].strip() if header else "", tuple(definitions), tuple(scraps))


def target_module(target: str, modules: Iterable[str], growing: Collection[str]) -> str:
    """The module file named after %%grow, such as 'buckets.py'.

    `modules` are the files there are inside mini_llm/, `growing` those of them that grow. Raises Refusal.
    """
    example = f"mini_llm/{min(growing)}" if growing else "mini_llm/buckets.py"
    if not target:
        raise Refusal(f"%%grow needs the file to grow, as in `%%grow {example}`.")
    name = target.removeprefix("./").removeprefix("mini_llm/")
    if target.startswith(("/", "~")) or ".." in target or not target.removeprefix("./").startswith("mini_llm/"):
        raise Refusal(f"%%grow {target}: the file must be one inside mini_llm/, as in `%%grow {example}`.")
    if name not in modules:
        near = difflib.get_close_matches(name, growing, 1) or difflib.get_close_matches(name + ".py", growing, 1)
        hint = f"did you mean mini_llm/{near[0]}?" if near else f"the ones that grow are {_list(growing)}."
        raise Refusal(f"%%grow mini_llm/{name}: there is no such file; {hint}")
    if name not in growing:
        raise Refusal(f"mini_llm/{name} is not a file that grows; the ones that do: {_list(growing)}.")
    return name


def _list(modules: Iterable[str]) -> str:
    return ", ".join(f"mini_llm/{m}" for m in sorted(modules))


def grow(
    source: str,
    cell: Cell,
    entries: list[Entry],
    growing: Collection[str],
    base: str,
    take_cell: bool = False,
) -> Change:
    """Puts the cell into the module's `source`.

    `entries`: what the cells put there so far; `growing`: the names learners write in this module; `base`:
    the module as it was handed out. Raises Untouched, Refusal, Edited (not with `take_cell`), SyntaxError.
    """
    new, names = cell.written(growing), cell.names(growing)
    if not names:
        stubs = cell.stubs(growing)
        if stubs:
            raise Untouched(f"{' and '.join(stubs)}: still the stub.")
        raise Refusal(f"this cell defines none of the functions to write: {', '.join(growing)}.")
    old = [e for e in entries if set(e.names) <= set(names)]
    others = [o for o in (e.without(names) for e in entries if e not in old) if o.names]
    shared = {text for e in others for text in e.pieces}
    wanted = _imports(source, cell, base, others, own={line for e in old for line in e.imports})
    _refuse_clashes(new, growing, base, others, shared)

    pieces = split(source)
    before = {text for e in entries for text in e.pieces} - shared
    owned = {n for e in old for n in e.bound} | {n for p in new for n in p.names}
    there = [p for p in binding(pieces, owned) if p.text not in shared and not p.is_import]
    mine = [p for p in new if p.text not in shared]
    same = [p.text for p in there] == [p.text for p in mine]
    if not (same or take_cell) and _edited(there, before, {p.text for p in mine}):
        raise Edited(names, text_of(*extract(source, names, growing, base, entries)), text_of(wanted, new))

    entry = Entry(names, tuple(p.text for p in new), tuple(wanted))
    if not same:
        anchor = next(iter(binding(there, names)), None)
        source = cut(source, [p for p in there if p is not anchor], block(p.text for p in mine), at=anchor)
    unwanted = {line for e in old for line in e.imports} - set(wanted) - {i for e in others for i in e.imports}
    source = cut(source, [p for p in split(source) if p.text in unwanted])
    source = add_imports(source, wanted)
    left = {n for p in split(source) for n in p.names}
    gone = {n for e in old for n in e.bound} | {n for p in there for n in p.names}
    put = tuple(dict.fromkeys(n for p in new for n in p.names))
    return Change(source, [*others, entry], put, tuple(sorted(gone - left)))


def _edited(there: list[Piece], before: set[str], new: set[str]) -> bool:
    """Whether the file's pieces differ from what the cell last wrote; a stub put back is no edit."""
    written = [p for p in there if not is_stub(p.nodes[0])]
    changed = any(p.text not in before and p.text not in new for p in written)
    return changed or (bool(written) and bool(before - {p.text for p in there}))


def _imports(source: str, cell: Cell, base: str, others: list[Entry], own: set[str]) -> list[str]:
    """The cell's imports that `base` lacks. Raises Refusal where a name would mean two things."""
    asked = import_lines(n for p in cell.definitions if p.is_import for n in p.nodes)
    own_names = {n for p in split(source) if not p.is_import for n in p.names}
    # A cell may import from the package what the module itself holds, as other cells of a notebook do.
    asked = [(n, line) for n, line in asked if not (line.startswith("from mini_llm") and n in own_names)]
    given = {line for p in split(base) if p.is_import for _, line in import_lines(p.nodes)}
    fixed = {n for p in split(base) if not p.is_import for n in p.names}
    taken = dict.fromkeys(fixed | {n for e in others for n in e.bound}, "")
    for piece in split(source):
        if piece.is_import:
            taken |= {n: line for n, line in import_lines(piece.nodes) if line not in own}
    for name, line in asked:
        if name != "*" and taken.get(name, line) != line:
            raise Refusal(
                f"`{line}` would give `{name}` a second meaning in this module; import it under another name."
            )
    return list(dict.fromkeys(line for _, line in asked if line not in given))


def _refuse_clashes(new, growing, base, others, shared) -> None:
    given = {n for p in split(base) for n in p.names} - set(growing)
    for piece in new:
        for name in piece.names:
            if name in given:
                raise Refusal(f"`{name}` is a part of this module that is not yours to write; give yours another name.")
            owner = next((", ".join(e.names) for e in others if name in e.bound), None)
            if owner and piece.text not in shared:
                raise Refusal(f"the cell of {owner} defines another `{name}`; give one of the two a new name.")


def extract(
    source: str, names: Collection[str], growing: Collection[str], base: str, entries: Iterable[Entry] = ()
) -> tuple[list[str], list[Piece]]:
    """What a cell for `names` has to hold to be what the file is: import lines, and pieces in file order.

    Besides the functions themselves, that is every piece they use that the module as handed out (`base`)
    lacks and that no other cell put there.
    """
    pieces = split(source)
    own = [e for e in entries if set(e.names) <= set(names)]
    given = {n for p in split(base) for n in p.names} | set(growing)
    given |= {n for e in entries if e not in own for n in e.bound}
    wanted = set(names) | {n for e in own for n in e.bound if n not in growing}
    taken: list[Piece] = []
    while fresh := [p for p in binding(pieces, wanted) if p not in taken and not p.is_import]:
        taken += fresh
        wanted |= used(n for p in fresh for n in p.nodes) - given
    lines = [line for p in pieces if p.is_import for name, line in import_lines(p.nodes) if name in wanted - given]
    return lines, sorted(taken, key=lambda p: p.start)


def text_of(imports: Iterable[str], pieces: Iterable[Piece]) -> str:
    """The body of a cell that holds these."""
    return "\n\n\n".join(filter(None, ["\n".join(imports), block(p.text for p in pieces)]))


def block(texts: Iterable[str]) -> str:
    """Pieces under each other, two blank lines around functions and classes."""
    lines, before = "", False
    for text in texts:
        definition = any(isinstance(n, DEFINITIONS) for p in split(text) for n in p.nodes)
        lines += ("\n\n\n" if definition or before else "\n") * bool(lines) + text
        before = definition
    return lines
