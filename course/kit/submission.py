"""Reading what a student submitted, whatever it is: a clean notebook comes out, or one cell that says why not."""

from __future__ import annotations

import json

import nbformat
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_raw_cell

MOST_BYTES = 64 << 20  # of a submitted notebook, saved outputs included
MARK = "mini_llm"  # our key in the metadata of a notebook and of its cells, where nbgrader's own takes no more keys
NEW_CELL = {"code": new_code_cell, "markdown": new_markdown_cell, "raw": new_raw_cell}
PYTHON = {"name": "python"}


def read(data: bytes) -> NotebookNode:
    """A submitted file as a notebook of the present format.

    Outputs are left out always: none of them counts. What is damaged in a cell is left out, its source kept.
    A file that cannot be read gives a notebook of one cell that says so, marked `unreadable` with the sentence.
    """
    try:
        raw = _load(data)
        found = raw.get("cells") if isinstance(raw, dict) else None
        cells = [_cell(c) for c in found if isinstance(c, dict)] if isinstance(found, list) else []
        if not cells:
            raise ValueError("it holds no cells")
    except Exception as e:  # damage has no end of forms, and none of them may stop a batch
        why = f"it is no valid JSON ({e})" if isinstance(e, json.JSONDecodeError) else str(e) or type(e).__name__
        said = f"The notebook could not be read: {why}."
        return new_notebook(cells=[new_markdown_cell(f"**{said}**")], metadata={MARK: {"unreadable": said}})
    seen: set[str] = set()
    for cell in cells:
        if cell.id in seen:
            cell.id = new_code_cell().id
        seen.add(cell.id)
    metadata = raw.get("metadata")
    kernel = metadata.get("kernelspec") if isinstance(metadata, dict) else None
    return new_notebook(
        cells=cells,
        metadata={"language_info": PYTHON} | ({"kernelspec": kernel} if isinstance(kernel, dict) else {}),
    )


def _load(data: bytes):
    if len(data) > MOST_BYTES:
        raise ValueError(f"it is larger than {MOST_BYTES >> 20} MiB")
    try:
        raw = json.loads(data)
    except UnicodeDecodeError:  # saved by an editor in another encoding: only its letters suffer
        raw = json.loads(data.decode("latin-1"))
    if isinstance(raw, dict) and isinstance(raw.get("worksheets"), list):
        raw = nbformat.convert(nbformat.from_dict(raw), 4)
    return raw


def _cell(raw: dict) -> NotebookNode:
    """A cell's source, and of the rest what grading needs: its id, pasted pictures, nbgrader's and our metadata."""
    kind = raw.get("cell_type")
    kind = kind if kind in NEW_CELL else "raw"
    source = raw.get("source", "")
    source = "".join(map(str, source)) if isinstance(source, list) else str(source)
    source = source.encode("utf-8", "replace").decode()  # half of a surrogate pair cannot be written to a file
    metadata = raw.get("metadata")
    kept = {k: metadata[k] for k in ("nbgrader", MARK) if k in metadata} if isinstance(metadata, dict) else {}
    cell = NEW_CELL[kind](source, metadata=nbformat.from_dict(kept))
    for key in ("id", "attachments"):
        try:
            cell = NEW_CELL[kind](**cell | {key: nbformat.from_dict(raw[key])})
        except (KeyError, nbformat.ValidationError):
            continue
    return cell
