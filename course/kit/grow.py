"""`%%grow` on files: reading a cell against the workspace, writing the module, remembering what was written.

The text work is in `grader.growth`; what a notebook shows is in `magic.py` and `conflict.py`.
"""

from __future__ import annotations

import builtins
import json
import symtable
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from grader.cells import handed_out, read_state
from grader.growth import (
    Cell,
    Change,
    Entry,
    Refusal,
    extract,
    grow,
    read_cell,
    target_module,
    text_of,
)
from grader.pieces import split
from grader.problems import growing
from grader.workspace import write


@dataclass(frozen=True)
class Target:
    """One growing module of the workspace: its file, its text now, and the names written there."""

    module: str  # 'buckets.py'
    file: Path
    source: str
    names: tuple[str, ...]

    @property
    def shown(self) -> str:
        return f"mini_llm/{self.module}"


def find(ws: Path, target: str) -> Target:
    """The module that a %%grow line names. Raises Refusal with one sentence."""
    package = ws / "mini_llm"
    if not package.is_dir():
        raise Refusal("There is no workspace yet: run `make learn` in the course's folder once.")
    grown = growing()
    there = [f.relative_to(package).as_posix() for f in package.rglob("*.py")]
    module = target_module(target, there, grown)
    file = package / module
    try:
        source = file.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
        split(source)
    except UnicodeDecodeError:
        raise Refusal(f"mini_llm/{module} is not UTF-8 text; save it as UTF-8, then run the cell again.") from None
    except SyntaxError as e:
        raise Refusal(f"mini_llm/{module}, line {e.lineno}, is no valid Python ({e.msg}); "
                      "correct it in the file, then run the cell again.") from None  # fmt: skip
    return Target(module, file, source, tuple(grown[module]))


def read(target: Target, body: str) -> Cell:
    """The cell, checked against its target. Raises Refusal, or SyntaxError with the cell's line numbers."""
    cell = read_cell("\n" + body)  # the %%grow line was line 1
    if not cell.names(target.names) and not cell.stubs(target.names):
        bound = {n for p in cell.definitions for n in p.names}
        for module, names in growing().items():
            if here := sorted(bound.intersection(names)):
                raise Refusal(f"{' and '.join(here)} belongs in mini_llm/{module}: the first line must be "
                              f"`%%grow mini_llm/{module}`.")  # fmt: skip
        raise Refusal(f"Nothing in this cell grows in {target.shown}: it must define {_either(target.names)}.")
    return cell


def _either(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else names[0]


def plan(ws: Path, target: Target, cell: Cell, take_cell: bool = False) -> Change:
    """What growing would make of the file. Raises Untouched, Refusal, Edited."""
    return grow(target.source, cell, entries(ws, target), target.names, base_of(ws, target), take_cell)


def entries(ws: Path, target: Target) -> list[Entry]:
    return [entry for entry, _ in read_state(ws).get(target.module, [])]


def base_of(ws: Path, target: Target) -> str:
    """The module as this workspace got it; the course's own when the workspace lost its record."""
    handed = ws / ".course" / "handed" / "mini_llm" / target.module
    return handed.read_text(encoding="utf-8") if handed.exists() else handed_out(target.module)


def save(ws: Path, target: Target, change: Change) -> None:
    """Writes the module, then what is known of it; a crash between the two loses no text."""
    if change.source != target.source:
        as_found = target.file.read_bytes()
        text = change.source.replace("\n", "\r\n") if b"\r\n" in as_found else change.source
        write(target.file, text.encode())
    remember(ws, target.module, change.entries)


def remember(ws: Path, module: str, found: list[Entry]) -> None:
    """Keeps what each cell put into a module, and when."""
    state = read_state(ws)
    known = {entry: at for entry, at in state.get(module, [])}
    state[module] = [(entry, known.get(entry, time.time())) for entry in found]
    if found:
        state[module][-1] = (found[-1], time.time())  # the cell that ran just now
    raw = {m: [asdict(e) | {"at": at} for e, at in found] for m, found in state.items()}
    write(ws / ".course" / "grown.json", json.dumps(raw, indent=1, sort_keys=True).encode())


def in_file(ws: Path, target: Target, names: tuple[str, ...]) -> str:
    """The cell body that would be what the file is; '' when the file holds stubs only."""
    known = entries(ws, target)
    lines, pieces = extract(target.source, names, target.names, base_of(ws, target), known)
    written = Cell("", tuple(pieces)).written(target.names)
    return text_of(lines, written) if any(set(p.names) & set(names) for p in written) else ""


def adopt(ws: Path, target: Target, names: tuple[str, ...]) -> tuple[str, Change]:
    """Takes the file's side: from now on the cell's text is the file's. The file stays as it is.

    Returns the cell's new body, and the change that it would make: none to the text.
    """
    body = in_file(ws, target, names)
    change = grow(target.source, read_cell(body), entries(ws, target), target.names, base_of(ws, target), True)
    remember(ws, target.module, change.entries)
    return body, change


def unknown_names(cell: Cell, source: str) -> list[str]:
    """Names that the cell's functions use and neither the module nor Python itself defines."""
    there = {n for p in split(source) for n in p.names} | set(dir(builtins)) | {"__name__", "__file__", "__doc__"}
    if "*" in there:
        return []
    found: dict[str, None] = {}

    def visit(table: symtable.SymbolTable) -> None:
        for symbol in table.get_symbols():
            used = symbol.is_referenced() and not symbol.is_assigned()
            if symbol.is_global() and used and symbol.get_name() not in there:
                found[symbol.get_name()] = None
        for child in table.get_children():
            visit(child)

    for piece in cell.definitions:
        for child in symtable.symtable(piece.text, "<cell>", "exec").get_children():
            visit(child)
    return list(found)
