"""`%%grow mini_llm/buckets.py`: an answer cell runs in the notebook, and its definitions go into the module.

In order: the cell is read and checked; its statements run up to the last definition; the module is written
and every loaded module sees the new names; what is left of the cell runs. If a definition raises, nothing
is written. The file is never written over an edit (see `conflict.py`).
"""

from __future__ import annotations
import __future__ as futures

import ast
import builtins
import contextlib
import importlib
import linecache
import sys
import types
from pathlib import Path

from IPython.core.magic import no_var_expand

from grader import workspace
from grader.growth import Cell, Change, Edited, Refusal, Untouched
from grader.pieces import import_lines, split, used
from kit import conflict, grow
from kit.grow import Target
from kit.waiting import stub_lines
from kit.words import say, wrapped


class GrowError(Exception):
    """Why a cell did not grow, shown as it is: one sentence, no traceback."""

    def _render_traceback_(self):
        return [wrapped(str(self))]


def register(shell) -> None:
    """Gives the notebook its %%grow."""

    @no_var_expand
    def run(line, body):
        return grow_cell(shell, line, body)

    shell.register_magic_function(run, "cell", "grow")


def grow_cell(shell, line: str, body: str) -> None:
    """Runs one %%grow cell."""
    ws = workspace.path()
    try:
        target = grow.find(ws, line.strip())
        cell = _read(shell, target, line, body)
        module = load(target)
        names = cell.names(target.names) or tuple(cell.stubs(target.names))
        if text := conflict.pending(names, body):
            shell.set_next_input(text, replace=True)
            say("The cell now holds the file's version. Nothing was run.")
            return
        try:
            grow.plan(ws, target, cell)
        except Untouched:
            _untouched(shell, ws, target, module, names, body)
            return
        except Edited as edited:
            _bind(shell, module, edited.names)
            conflict.show(conflict.Conflict(shell, ws, target, cell, edited, body))
            return
        code = _Code(shell, line, body, cell)
        _lend(shell, module, cell)
        code.run_definitions()
        put(shell, ws, grow.find(ws, line.strip()), cell, module)
        code.run_rest()
    except Refusal as e:
        raise GrowError(str(e)) from None


def put(shell, ws: Path, target: Target, cell: Cell, module, take_cell: bool = False) -> None:
    """Writes a cell into its module, updates what is loaded, and says what changed. Raises as `grow.plan`."""
    change = grow.plan(ws, target, cell, take_cell)
    update(shell, target, change, module, lambda: grow.save(ws, target, change))
    if change.source == target.source:
        say(f"{target.shown} is as this cell says: {', '.join(change.put)}.")
    else:
        taken = f"; taken out: {', '.join(change.removed)}" if change.removed else ""
        say(f"{target.shown} has grown: {', '.join(change.put)}{taken}.")
    for line in stub_lines(n for p in cell.written(target.names) for n in p.nodes):
        say(f"Note: the stub's raise is still in line {line}: take it out, then run the cell again.")
    _warn_unknown(shell, target, cell, change)
    if cell.scraps:
        lines = ", ".join(str(p.nodes[0].lineno) for p in cell.scraps)
        say(f"Only run here, not written to the file: line{'s' * (len(cell.scraps) > 1)} {lines}.")


def _read(shell, target: Target, line: str, body: str) -> Cell:
    try:
        return grow.read(target, body)
    except SyntaxError as e:
        for number, text in enumerate(body.split("\n"), 2):
            if text.startswith(("%", "!")):
                command = f"Line {number} is a command of the notebook (`{text.strip()}`)"
                raise Refusal(f"{command}: move it to a cell of its own, a file cannot hold it.") from None
        raw = f"%%grow {line}\n{body}"
        e.filename = shell.compile.cache(raw, shell.execution_count, raw_code=raw)
        e.in_cell = True
        raise


def _untouched(shell, ws: Path, target: Target, module, stubs: tuple[str, ...], body: str) -> None:
    _bind(shell, module, stubs)
    names = " and ".join(stubs)
    if text := grow.in_file(ws, target, stubs):
        say(f"This cell still holds the stub, but {target.shown} has {names} already.")
        conflict.show(conflict.Conflict(shell, ws, target, None, Edited(stubs, text, ""), body))
        return
    say(f"Nothing has grown yet: write {names} in place of the `raise NotImplementedError` line, "
          "then run this cell again.")  # fmt: skip


def load(target: Target) -> types.ModuleType:
    """The workspace's module, imported."""
    name = "mini_llm." + target.module.removesuffix(".py").replace("/", ".")
    try:
        module = importlib.import_module(name)
    except Exception as e:
        raise Refusal(f"{target.shown} cannot be imported ({type(e).__name__}: {e}); correct it in the file, "
                      "then run the cell again.") from None  # fmt: skip
    if Path(module.__file__).resolve() != target.file.resolve():
        raise Refusal("Another mini_llm is loaded, not the workspace's: restart the kernel and run the first "
                      "cell of the notebook first.")  # fmt: skip
    return module


class _Code:
    """The cell's statements, to be run in the notebook with the line numbers that the cell shows."""

    def __init__(self, shell, line: str, body: str, cell: Cell):
        self.shell = shell
        raw = f"%%grow {line}\n{body}"
        self.name = shell.compile.cache(raw, shell.execution_count, raw_code=raw)
        tree = ast.parse("\n" + body)
        self.flags = sum(
            getattr(futures, alias.name).compiler_flag
            for node in tree.body
            if isinstance(node, ast.ImportFrom) and node.module == "__future__"
            for alias in node.names
        )
        last = max(node.end_lineno for p in cell.definitions for node in p.nodes)
        self.definitions = [node for node in tree.body if node.lineno <= last]
        self.rest = tree.body[len(self.definitions) :]

    def run_definitions(self) -> None:
        self._run(self.definitions, "exec")

    def run_rest(self) -> None:
        show = self.rest[-1:] if self.rest and isinstance(self.rest[-1], ast.Expr) else []
        self._run(self.rest[: len(self.rest) - len(show)], "exec")
        self._run(show, "single")  # its value is the cell's output

    def _run(self, nodes: list[ast.stmt], mode: str) -> None:
        if not nodes:
            return
        tree = ast.Module(nodes, []) if mode == "exec" else ast.Interactive(nodes)
        try:
            code = compile(tree, self.name, mode, flags=self.flags, dont_inherit=True)
            exec(code, self.shell.user_global_ns, self.shell.user_ns)
        except SyntaxError as error:
            error.in_cell = True  # such as a return outside a function
            raise
        except Exception as error:
            self._shown_from_here(error, error.__traceback__.tb_next)
            raise

    def _shown_from_here(self, error: Exception, trace) -> None:
        """Lets the traceback start at the cell, as it does in any other cell."""

        def render():
            return self.shell.InteractiveTB.structured_traceback(type(error), error, trace, tb_offset=0)

        with contextlib.suppress(AttributeError):  # an error that takes no attributes shows our frames too
            error._render_traceback_ = render


def _lend(shell, module, cell: Cell) -> None:
    """Names of the module that the cell uses and the notebook lacks: what the file sees, the cell sees."""
    defined = {n for p in cell.definitions for n in p.names}
    wanted = used(n for p in (*cell.definitions, *cell.scraps) for n in p.nodes) - defined
    for name in wanted:
        if name in vars(module) and name not in shell.user_ns and not hasattr(builtins, name):
            shell.user_ns[name] = vars(module)[name]


def update(shell, target: Target, change: Change, module, write) -> None:
    """Runs the new pieces in the loaded module, writes the file, and hands the new objects to everyone.

    When a piece cannot run in the module nothing is written, and the module is as before.
    """
    entry = change.entries[-1]
    new = [p for p in split(change.source) if p.text in entry.pieces or p.text in entry.imports]
    future = [p for p in split(change.source) if p.text.startswith("from __future__") and p not in new]
    tree = ast.Module([n for p in [*future, *new] for n in p.nodes], [])
    before = dict(vars(module))
    try:
        exec(compile(tree, str(target.file), "exec", dont_inherit=True), vars(module))
    except Exception as e:
        _restore(module, before)
        hint = _hint(shell, e.name, target) if isinstance(e, NameError) and e.name else "."
        raise Refusal(f"The cell runs in the notebook but not in {target.shown} ({type(e).__name__}: {e}); "
                      f"nothing was written{hint}") from None  # fmt: skip
    for name in change.removed:
        vars(module).pop(name, None)
    try:
        write()
    except BaseException:
        _restore(module, before)
        raise
    linecache.checkcache(str(target.file))
    _hand_out(shell, target, module, before, {*change.put, *change.removed})
    _bind(shell, module, change.put)


def _restore(module, before: dict) -> None:
    vars(module).clear()
    vars(module).update(before)


def _hand_out(shell, target: Target, module, before: dict, names: set[str]) -> None:
    """Everyone in the workspace and the notebook who imported an old object gets the new one."""
    package = target.file.parents[target.module.count("/")]
    loaded = [m for m in list(sys.modules.values()) if _inside(m, package) and m is not module]
    for space in [*map(vars, loaded), shell.user_ns]:
        for key, value in list(space.items()):
            for name in names & before.keys():
                is_code = isinstance(value, types.FunctionType | type)
                if value is before[name] and (is_code or key == name) and name in vars(module):
                    space[key] = vars(module)[name]


def _inside(module, package: Path) -> bool:
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and Path(file).resolve().is_relative_to(package.resolve())


def _bind(shell, module, names) -> None:
    """In the notebook, too, the names mean what the file says."""
    shell.user_ns.update({name: vars(module)[name] for name in names if name in vars(module)})


def _warn_unknown(shell, target: Target, cell: Cell, change: Change) -> None:
    for name in grow.unknown_names(cell, change.source):
        where = "the notebook" if name in shell.user_ns else "nothing"
        say(f"Note: `{name}` is used, but {where} defines it, not this cell and not {target.shown}"
              f"{_hint(shell, name, target)}")  # fmt: skip


def _hint(shell, name: str, target: Target) -> str:
    """How the cell can define a name that the module will not have."""
    value = shell.user_ns.get(name)
    if isinstance(value, types.ModuleType):
        statement = f"import {value.__name__}" + (f" as {name}" if value.__name__ != name else "")
        return f": add `{statement}` to the cell."
    home, own = getattr(value, "__module__", None), getattr(value, "__name__", None)
    if home and own and home not in ("__main__", "builtins"):
        return f": add `from {home} import {own}{f' as {name}' if own != name else ''}` to the cell."
    # `target` is the file as it was: an import that the cell has lost leaves the file with it
    imported = dict(line for p in split(target.source) if p.is_import for line in import_lines(p.nodes))
    if name in sys.stdlib_module_names and name not in shell.user_ns:
        imported.setdefault(name, f"import {name}")
    if name in imported:
        return f": import it in the cell, with `{imported[name]}`."
    return ": define it in the cell."
