"""Chapter 3 in JupyterLab and a real Chromium: run it, move a slider, judge.

BROWSER_PICTURE=path.png keeps the picture that the README shows.
"""

import importlib.util
import os
from pathlib import Path

import nbformat
import pytest

from grader.cells import answers
from kit.learn import bring_notebooks

browser = importlib.import_module("browser") if importlib.util.find_spec("playwright") else None

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "course" / "source" / "03_bucket_sizes" / "03_bucket_sizes.ipynb"
WRONG = "%%grow mini_llm/buckets.py\ndef pad_to(bs, sizes):\n    return max(sizes)\n"
RIGHT = """%%grow mini_llm/buckets.py
def pad_to(bs, sizes):
    for size in sizes:
        if size >= bs:
            return size
    return None
"""

pytestmark = pytest.mark.slow


@pytest.fixture
def notebook(ws):
    """The learner's notebook with right answers in it, but for the first, which is wrong."""
    bring_notebooks(ws)
    path = ws / SOURCE.name
    solutions = {a.grade_id: a.source for a in answers(SOURCE)}
    solutions["answer-133-pad_to"] = WRONG
    book = nbformat.read(path, as_version=4)
    for cell in book.cells:
        cell.source = solutions.get(cell.id, cell.source)
    nbformat.write(book, path)
    return path


@pytest.mark.skipif(browser is None, reason="playwright is not installed")
@pytest.mark.skipif(browser and not browser.chromium(), reason="no Chromium on this machine")
def test_a_learner_runs_the_chapter_moves_a_slider_and_is_accepted(notebook, tmp_path):
    pad_to = next(a.source for a in answers(SOURCE) if a.part == "pad_to")
    with browser.lab(notebook.parent) as address, browser.page() as page:
        book = browser.Notebook(page, address, notebook.name)
        book.run_all()

        before, after = book.move_slider("batch size")
        assert before != after
        assert "A batch of 21 runs at" in book.cell("kit.ladder_explorer()").inner_text()

        assert "wrong answer" in book.judge('kit.judge(133, "pad_to")')
        panel = book.cell('kit.judge(133, "pad_to")').inner_text()
        for shown in ("input", "expected", "got", "pad_to("):
            assert shown in panel

        book.write("return max(sizes)", pad_to)
        assert "has grown: pad_to" in book.run("### END SOLUTION")
        assert "accepted" in book.judge('kit.judge(133, "pad_to")')

        # an edit in the file: shown, and taken into the cell with one click
        file = notebook.parent / "mini_llm" / "buckets.py"
        file.write_text(file.read_text().replace("not {bs}", "and not {bs}"))
        book.write("### END SOLUTION", pad_to.replace("at least 1 row", "one row at least"))
        assert "Nothing was overwritten" in book.run("one row at least")
        cell = book.cell("one row at least")
        cell.get_by_role("button", name="take file").click()
        book.cell("and not {bs}").wait_for()

        book.write("and not {bs}", RIGHT)
        book.run("if size >= bs")
        assert "3 -> 4" in book.run("for bs in (1, 3, 8, 9)")
        assert "accepted" in book.judge('kit.judge(133, "pad_to")')
        picture = Path(os.environ.get("BROWSER_PICTURE") or tmp_path / "notebook.png")
        book.picture('kit.judge(133, "pad_to")', picture.with_suffix(".judge.png"))
        book.run("kit.ladder_explorer()")
        assert "A batch of 20 runs at 24" in book.cell("kit.ladder_explorer()").inner_text()
        book.picture("kit.ladder_explorer()", picture)
        assert picture.stat().st_size > 50_000
