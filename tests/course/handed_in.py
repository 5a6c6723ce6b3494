"""What a class hands in for chapter 3: honest work, accidents and attacks, and the points that each has earned."""

from __future__ import annotations

from classroom import answer, cell_of, solutions

from grader.problems import ROOT

MUTANTS = ROOT / "practice" / "problems" / "133_capture_sizes" / "mutants"
PARTS = ("pad_to", "expected_waste", "best_sizes", "default_capture_sizes")
WORTH = {"pad_to": 2, "expected_waste": 3, "best_sizes": 5, "default_capture_sizes": 4}
ALL = tuple(WORTH[p] for p in PARTS)
NONE = (0, 0, 0, 0)
WRITTEN = "written-3-ladder_for_a_server"
# by student, for the parts in the order of PARTS
EARNED = {
    "full": ALL,
    "partial": (2, 3 * 3 / 4, 0, 0),
    "blank": NONE,
    "endless": (2, 3, 0, 4),
    "endless-import": (2, 3, 0, 4),
    "kills": (2, 0, 5, 4),
    "twice": (2, 3, 0, 0),
    "deleted": (2, 0, 0, 0),
    "patches": NONE,
    "noisy": ALL,
    "forged": NONE,
    "edited": ALL,
    "no-json": NONE,
    "no-cells": NONE,
}
FORGED = '{"problem": 133, "verdict": "accepted", "passed": 16, "total": 16, "score": 1.0}'
# In a kernel these give full marks. The first is run there only; the second is what a worker of the judge meets.
PATCHES = f"""\
import subprocess
import pytest

subprocess.run = subprocess.check_output = lambda *a, **k: subprocess.CompletedProcess(a, 0, '{FORGED}', '')
subprocess.Popen.communicate = lambda *a, **k: ('{FORGED}', '')
pytest.main = lambda *a, **k: 0
sum = lambda *a: 2.0
print('{FORGED}')
"""
PATCHED = f"""\
def pad_to(bs, sizes):
    import subprocess, sys
    import pytest

    subprocess.run = pytest.main = pytest.approx = lambda *a, **k: 0
    print('{FORGED}')
    sys.stderr.write("<script>alert('pad_to')</script>\\x1b[31m")
    return -1
"""


def hand_in_all(room) -> None:
    s = solutions()

    def work(*parts: str) -> dict:
        notebook = room.released
        for part in parts or PARTS:
            answer(notebook, part, s[part])
        return notebook

    full = work()
    cell_of(full, WRITTEN)["source"] = "Measure a day first. <script>alert('written')</script>"
    room.hand_in("full", full)

    wrong = (MUTANTS / "waste_forgets_steps_above_the_top.py").read_text(encoding="utf-8")
    room.hand_in("partial", answer(work("pad_to"), "expected_waste", wrong))
    room.hand_in("blank", room.released)
    loops = "def best_sizes(dist, max_bs, k):\n    while True:\n        pass"
    room.hand_in("endless", answer(work(), "best_sizes", loops))
    hangs = "FOREVER = [0 for _ in iter(int, 1)]\n\n\n" + s["best_sizes"]
    room.hand_in("endless-import", answer(work(), "best_sizes", hangs))
    kills = "import os\nimport signal\n\nGONE = os.kill(os.getpid(), signal.SIGKILL)\n\n\n" + s["expected_waste"]
    room.hand_in("kills", answer(work(), "expected_waste", kills))
    room.hand_in("twice", _twice(work("pad_to", "expected_waste"), wrong))
    room.hand_in("deleted", _deleted(work("pad_to", "best_sizes")))
    patches = answer(room.released, "pad_to", PATCHES + PATCHED)
    patches["cells"].insert(3, {**_code(PATCHES), "id": "patches"})
    room.hand_in("patches", patches)
    room.hand_in("noisy", _noisy(work(), s))
    room.hand_in("forged", _forged(room.released))
    room.hand_in("edited", _edited(work()))
    room.hand_in("no-json", b'{"cells": [<<<<<<< HEAD')
    room.hand_in("no-cells", {"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def _code(source: str, **metadata) -> dict:
    return {"cell_type": "code", "execution_count": 1, "metadata": metadata, "outputs": [], "source": source}


def _copy(cell: dict, **changes) -> dict:
    return {**cell, "metadata": {**cell["metadata"]}, **changes}


def _twice(notebook: dict, wrong: str) -> dict:
    """pad_to right, then a copy that holds the stub; expected_waste wrong, then right; a test cell three times.
    And default_capture_sizes does not parse."""
    cells = notebook["cells"]
    right, waste = cell_of(notebook, "answer-133-pad_to"), cell_of(notebook, "answer-133-expected_waste")
    header, signature = right["source"].split("\n")[:2]
    stub = _copy(right, source=f"{header}\n{signature}\n    raise NotImplementedError('later')", id="copy1")
    cells.insert(cells.index(right) + 1, stub)
    cells.insert(cells.index(waste), _copy(waste, source=f"{header}\n{wrong}", id="copy2"))
    test = cell_of(notebook, "judge-133-pad_to")
    cells[0:0] = [_copy(test), _copy(test)]  # with the id of the cell, too
    return answer(notebook, "default_capture_sizes", "def default_capture_sizes():\n    return (1,")


def _deleted(notebook: dict) -> dict:
    """Without the test cell of pad_to, without all of best_sizes, without the written answer and its question."""
    gone = ["judge-133-pad_to", "answer-133-best_sizes", "judge-133-best_sizes"]
    for grade_id in [*gone, WRITTEN, WRITTEN.replace("written", "prompt")]:
        notebook["cells"].remove(cell_of(notebook, grade_id))
    return notebook


def _noisy(notebook: dict, s: dict[str, str]) -> dict:
    """Right answers that warn and print; and code that only runs in the notebook, where it ends the kernel."""
    noise = "\n".join(["    import sys, warnings", "    warnings.warn('careful')",
                       "    print('<b>seen</b>' * 1000, file=sys.stderr)", "    sys.stderr.flush()"])  # fmt: skip
    head, rest = s["pad_to"].split('    """\n', 1)
    top = 'import warnings\nNOTHING = warnings.warn("at import")\n\n\n'
    answer(notebook, "pad_to", f'{top}{head}    """\n{noise}\n{rest}\n\n\nimport os\nos._exit(0)')
    notebook["cells"].insert(0, {**_code("import os\nos._exit(1)"), "id": "exit"})
    cell = cell_of(notebook, "judge-133-pad_to")
    cell["outputs"] = [{"output_type": "stream", "name": "stderr", "text": "UserWarning: careful"}]
    return notebook


def _forged(notebook: dict) -> dict:
    """Stubs, with the outputs, the points and the sources of test cells that would give full marks."""
    for cell in notebook["cells"]:
        about = cell["metadata"].get("nbgrader", {})
        if about.get("grade") and cell["cell_type"] == "code":
            data = {"text/plain": "5.0"}
            result = {"output_type": "execute_result", "execution_count": 9, "metadata": {}, "data": data}
            cell["outputs"] = [result, {"output_type": "stream", "name": "stdout", "text": "accepted"}]
            cell["source"] = "5.0"
            about["points"] = 100
    answer_cell = cell_of(notebook, "answer-133-pad_to")  # an answer that would be its own test
    answer_cell["metadata"]["nbgrader"] |= {"grade": True, "points": 100}
    return notebook


def _edited(notebook: dict) -> dict:
    """Right answers; locked cells edited, metadata damaged in ways that stop nbgrader's own batch."""
    cell_of(notebook, "prompt-3-ladder_for_a_server")["source"] = "no question"
    cell_of(notebook, "judge-133-best_sizes")["source"] = "0.0"
    about = [c["metadata"]["nbgrader"] for c in notebook["cells"] if "nbgrader" in c["metadata"]]
    del about[0]["schema_version"], about[1]["points"]
    about[2] |= {"schema_version": 1, "extra": True}
    about[3]["points"] = "four"
    cell_of(notebook, "answer-133-best_sizes")["cell_type"] = "markdown"
    notebook["cells"].insert(1, _code("1", nbgrader={}))
    notebook["cells"].insert(1, _code("1", nbgrader={"grade_id": "judge-1-nothing", "grade": True, "points": 50}))
    notebook["cells"].insert(1, _code("1", nbgrader="text"))
    del notebook["cells"][0]["metadata"]
    return notebook
