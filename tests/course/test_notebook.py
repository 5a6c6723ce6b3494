"""A chapter's notebook in a fresh kernel, top to bottom: as handed out, and solved."""

import os
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from grader.cells import answers
from kit.learn import bring_notebooks
from kit.release import CODE_STUB

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "course" / "source").glob("*/*.ipynb"))


def execute(notebook, cwd):
    """Runs all cells in a kernel started in `cwd`; an error that is not allowed stops it, as in Run All."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"MINI_LLM_COURSE": str(ROOT)}
    client = NotebookClient(notebook, kernel_name="python3", timeout=120, resources={"metadata": {"path": str(cwd)}})
    client.create_kernel_manager()
    client.km.kernel_spec.argv[0] = sys.executable  # this environment's, whatever is on the PATH
    client.execute(env=environment)
    return notebook


def said(cell):
    texts = [o.get("text", "") for o in cell.get("outputs", []) if o.output_type == "stream"]
    return " ".join("".join(texts).split())


@pytest.fixture(params=SOURCES, ids=lambda p: p.stem)
def notebook(request, ws):
    bring_notebooks(ws)
    return nbformat.read(ws / request.param.name, as_version=4)


def test_unsolved_it_runs_to_its_end_and_says_what_to_do(notebook, ws):
    execute(notebook, ws)
    outputs = [o for c in notebook.cells for o in c.get("outputs", [])]
    assert [o for o in outputs if o.output_type == "error" or o.get("name") == "stderr"] == []
    code = [c for c in notebook.cells if c.cell_type == "code"]
    assert all(c.execution_count for c in code if c.source.strip())
    assert f"mini_llm: yours, in {ws}/mini_llm" in said(code[0])
    for cell in code:
        if CODE_STUB in cell.source:
            assert "Nothing has grown yet" in said(cell)
        elif cell.id.startswith("judge-"):
            assert "python judge.py" in cell.outputs[0].data["text/plain"]
        elif "raises-exception" in cell.metadata.get("tags", []):
            assert "is not written yet" in said(cell) or "comes from a cell above" in said(cell), cell.source


def test_solved_it_grows_the_package_from_a_kernel_in_a_subfolder(notebook, ws):
    source = nbformat.read(next(p for p in SOURCES if p.name == next(ws.glob("*.ipynb")).name), as_version=4)
    solutions = {a.grade_id: a.source for a in answers(source)}
    for cell in notebook.cells:
        cell.source = solutions.get(cell.id, cell.source)
    deep = ws / "notes" / "today"
    deep.mkdir(parents=True)
    execute(notebook, deep)
    for cell in notebook.cells:
        if cell.id in solutions:
            assert "has grown" in said(cell)
        if "raises-exception" in cell.metadata.get("tags", []):
            assert "not written yet" not in said(cell) and "comes from a cell above" not in said(cell)
            assert not [o for o in cell.outputs if o.output_type == "error"], cell.source
    assert "grown in chapter 3" not in (ws / "mini_llm" / "buckets.py").read_text()
