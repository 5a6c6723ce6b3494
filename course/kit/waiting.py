"""Errors as a learner should meet them: a stub says in one sentence what to write, without a traceback."""

from __future__ import annotations

import ast
import re

from grader.pieces import bound
from grader.problems import growing
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
            say(sentence(name))
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
        if str(error) == _STUB_TEXT:
            while trace.tb_next:
                trace = trace.tb_next
            return trace.tb_frame.f_code.co_name
        return None


def sentence(name: str) -> str:
    """What to do about a function that is still a stub."""
    chapters = [names[name][1] for names in growing().values() if name in names]
    where = f" (chapter {chapters[0]})" if chapters else ""
    return f"{name} is not written yet{where}: grow it in its answer cell, then run this cell again."
