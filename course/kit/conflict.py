"""When an answer cell and the file differ: both are shown, and one click takes either.

Without widgets the same choice is `kit.take("file")` or `kit.take("cell")`.
"""

from __future__ import annotations

import difflib
import html
import json
import time
from dataclasses import dataclass
from pathlib import Path

from grader.growth import Cell, Edited, Refusal
from grader.workspace import write
from kit import grow
from kit.grow import Target
from kit.theme import CSS

# Puts a text into the cell above, in JupyterLab and Notebook 7; other front ends simply go on. The script
# runs before its output is part of the page, so it looks again for a while.
_FILL = """
const fill = (tries) => {
  const cell = element.closest('.jp-Cell');
  const content = cell && cell.querySelector('.jp-InputArea-editor .cm-content');
  const view = content && [content.cmTile, content.cmView].map((held) => held && held.view).find(Boolean);
  if (view) {
    view.dispatch({changes: {from: 0, to: view.state.doc.length, insert: %s}});
  } else if (tries) {
    setTimeout(() => fill(tries - 1), 50);
  }
};
fill(40);
"""


@dataclass
class Conflict:
    """One cell against the file. `cell` is None when it is still the stub, and only the file can be taken."""

    shell: object
    ws: Path
    target: Target
    cell: Cell | None
    edited: Edited
    body: str

    @property
    def names(self) -> str:
        return " and ".join(self.edited.names)

    def take_file(self) -> str:
        """The file's side stands; the answer cell is to become it. Returns what to say."""
        from kit import magic

        target = grow.find(self.ws, self.target.shown)
        if not grow.in_file(self.ws, target, self.edited.names):
            return f"The file has no {self.names} any more, so there is nothing to take."
        body, change = grow.adopt(self.ws, target, self.edited.names)
        magic.update(self.shell, target, change, magic.load(target), lambda: None)
        _pending[self.edited.names] = (self.body, f"%%grow {target.shown}\n{body}")
        return f"The file's {self.names} stays, and the cell receives it; if it did not, run the cell once more."

    def take_cell(self) -> str:
        """The cell's side stands; the file's is kept as a backup. Returns what to say."""
        from kit import magic

        target = grow.find(self.ws, self.target.shown)
        backup = self.ws / ".course" / "backups" / f"{time.strftime('%Y%m%d-%H%M%S')}-{target.file.name}"
        write(backup, target.file.read_bytes())
        magic.put(self.shell, self.ws, target, self.cell, magic.load(target), take_cell=True)
        return f"The file before that is kept: {backup.relative_to(self.ws)} in the workspace."

    def diff(self) -> list[str]:
        """The two sides as a diff: '-' is in the file only, '+' in the cell only."""
        file, cell = self.edited.file.split("\n"), self.edited.cell.split("\n")
        return [line for line in difflib.ndiff(file, cell) if not line.startswith("?")]

    def __str__(self) -> str:
        return (
            f"{self.names}: {self.target.shown} was edited since. Nothing was overwritten.\n"
            "- in the file, + in this cell:\n\n" + "\n".join(self.diff())
            + '\n\nkit.take("file") keeps the file\'s version, kit.take("cell") this cell\'s.'
        )  # fmt: skip


# names -> the cell's body at the click, and the text it shall get
_pending: dict[tuple[str, ...], tuple[str, str]] = {}
_latest: list[Conflict] = []


def pending(names: tuple[str, ...], body: str) -> str | None:
    """The text that a cell shall hold after 'take file', while it still holds what it held at the click."""
    at_click, text = _pending.pop(names, (None, ""))
    return text if at_click == body else None


def take(side: str) -> None:
    """Settles the difference shown last: side 'file' or 'cell'."""
    if side not in ("file", "cell"):
        raise ValueError(f"kit.take needs 'file' or 'cell', not {side!r}.")
    if not _latest:
        print("There is no difference to settle: cell and file agree.")
        return
    found = _latest.pop()
    if side == "cell" and found.cell:
        print(found.take_cell())
    else:
        print(found.take_file())
        if found.edited.names in _pending:
            print(f"To copy:\n\n{_pending[found.edited.names][1]}")


def show(found: Conflict) -> None:
    """Displays the difference with a button for each side; as text where there are no widgets."""
    _latest[:] = [found]
    from IPython.display import Javascript, display

    from kit.panel import Shown

    try:
        import ipywidgets as w
    except ImportError:
        print(found)
        return
    style = w.Layout(width="auto")
    box, script = w.HTML(CSS + picture(found)), w.Output()
    file = w.Button(description="take file: this cell gets the file's version", layout=style)
    cell = w.Button(description="take cell: the file gets this cell's version", layout=style)
    buttons = w.HBox([file, cell] if found.cell else [file])

    def settle(side, choose):
        def clicked(_):
            for button in buttons.children:
                button.disabled = True  # a second click would settle it twice
            try:
                with script:
                    done = choose()
                    if side == "file" and found.edited.names in _pending:
                        display(Javascript(_FILL % json.dumps(_pending[found.edited.names][1])))
            except Refusal as e:
                box.value = CSS + picture(found, str(e))
                for button in buttons.children:
                    button.disabled = False
                return
            box.value = CSS + _box(f"{found.names}: the {side}'s version was taken.", html.escape(done))
            buttons.children = ()
            _latest[:] = [c for c in _latest if c is not found]

        return clicked

    file.on_click(settle("file", found.take_file))
    cell.on_click(settle("cell", found.take_cell))
    display(Shown(w.VBox([box, buttons, script]), str(found)))


def _box(title: str, body: str) -> str:
    return f'<div class="kit-box"><div class="kit-title">{html.escape(title)}</div>{body}</div>'


def picture(found: Conflict, refused: str = "") -> str:
    """The difference as HTML, escaped; `refused` is why the last click settled nothing."""
    kinds = {"-": "kit-file", "+": "kit-cell", " ": ""}
    rows = "".join(
        f'<div class="{kinds[line[0]]}"><span>{line[0]}</span>{html.escape(line[2:]) or "&nbsp;"}</div>'
        for line in found.diff()
    )
    why = f'<p class="kit-warn">{html.escape(refused)}</p>' if refused else ""
    return _box(
        f"{found.names}: file and cell differ. Nothing was overwritten.",
        f'{why}<div class="kit-legend"><span class="kit-file">− in the file</span> '
        f'<span class="kit-cell">+ in this cell</span></div><pre class="kit-diff">{rows}</pre>',
    )
