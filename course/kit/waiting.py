"""Errors as a learner should meet them: a stub says in one sentence what to write, without a traceback."""

from __future__ import annotations

import ast
import contextlib
import inspect
import re
import textwrap
from collections.abc import Iterable
from pathlib import Path

from grader import workspace
from grader.pieces import bound
from grader.problems import growing
from grader.stubs import is_stub
from kit.release import CODE_STUB
from kit.words import say

_GROWN = re.compile(r"grown in chapter (\d+): (\w+)")
_STUB_TEXT = CODE_STUB.split('"')[1]


def left_by(tree: ast.Module) -> set[str]:
    """The names a cell may leave behind in the notebook, loop variables included; imports are not meant."""
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif not isinstance(node, ast.Import | ast.ImportFrom):
            names |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
            names.update(bound(node))
    return names


class Waiting:
    """Renders the errors that a stub causes: its own, and the missing names of a cell that met one."""

    def __init__(self) -> None:
        self.missing: dict[str, str] = {}  # name -> the function it waits for

    def install(self, shell) -> None:
        shell.set_custom_exc((NotImplementedError, NameError, SyntaxError), self.render)

    def render(self, shell, kind, error, trace, tb_offset=None):
        """IPython's handler: one sentence when the error comes from a stub, else what IPython shows."""
        if isinstance(error, SyntaxError):
            # One of a %%grow cell is shown as in any other cell, without the way to its parser.
            shell.showsyntaxerror(running_compiled_code=not hasattr(error, "in_cell"))
            return
        name = self.waits_for(error, trace)
        if name is None:
            shell.showtraceback((kind, error, trace), tb_offset=tb_offset)
            return
        if isinstance(error, NotImplementedError):
            say(left_in(name, trace) or sentence(name))
        else:
            say(f"{error.name} comes from a cell above that waits for {name}.")
        try:
            cell = ast.parse(shell.user_ns["In"][-1])
        except (SyntaxError, KeyError, IndexError):
            return
        self.missing |= dict.fromkeys(left_by(cell), name)

    def waits_for(self, error: BaseException, trace) -> str | None:
        """The function whose absence caused `error`; None when it has another cause."""
        if isinstance(error, NameError):
            return self.missing.get(error.name)
        if match := _GROWN.fullmatch(str(error)):
            return match[2]
        return innermost(trace).tb_frame.f_code.co_name if str(error) == _STUB_TEXT else None


def innermost(trace):
    """The last frame of a traceback: where the error was raised."""
    while trace.tb_next:
        trace = trace.tb_next
    return trace


def left_in(name: str, trace) -> str:
    """What to say when the function is written and still ends in the stub's line; '' when it is a stub."""
    code, line = innermost(trace).tb_frame.f_code, innermost(trace).tb_lineno
    with contextlib.suppress(OSError, TypeError):
        if not is_stub(textwrap.dedent(inspect.getsource(code))):
            file, ws = Path(code.co_filename), workspace.path()
            where = f" of {file.relative_to(ws)}" if file.is_relative_to(ws) else ""
            left = f"{name} is written, but the stub's raise is still in line {line}{where}"
            return f"{left}: take it out, then run the cell again."
    return ""


def stub_lines(nodes: Iterable[ast.AST]) -> list[int]:
    """The lines in which a stub's raise is left, in code that is more than a stub."""
    found = []
    for node in (n for top in nodes if not is_stub(top) for n in ast.walk(top)):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
            text = getattr(node.exc.args[0], "value", None)
            if isinstance(text, str) and (text == _STUB_TEXT or _GROWN.fullmatch(text)):
                found.append(node.lineno)
    return found


def sentence(name: str) -> str:
    """What to do about a function that is still a stub."""
    chapters = [names[name][1] for names in growing().values() if name in names]
    where = f" (chapter {chapters[0]})" if chapters else ""
    return f"{name} is not written yet{where}: grow it in its answer cell, then run this cell again."
