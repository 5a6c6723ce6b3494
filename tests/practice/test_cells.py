"""Answer cells: found in a notebook, assembled into a module, compared with the learner's file."""

import json
import os
import time

import pytest

from grader import problems
from grader.cells import answers, assemble, differences, handed_out
from grader.growth import grow, read_cell
from grader.problems import growing

PAD = """%%grow mini_llm/buckets.py
def pad_to(bs, sizes):
    return min((s for s in sizes if s >= bs), default=None)
"""
STUB = """%%grow mini_llm/buckets.py
def expected_waste(dist, sizes):
    raise NotImplementedError("replace this line with your code")
"""


def notebook(**cells):
    """A notebook of answer cells of problem 133, given as part=source."""
    return {
        "cells": [
            {"cell_type": "markdown", "metadata": {}, "source": "# Title"},
            *(
                {
                    "cell_type": "code",
                    "source": source.splitlines(keepends=True),
                    "metadata": {"nbgrader": {"grade_id": f"answer-133-{part}", "solution": True}},
                }
                for part, source in cells.items()
            ),
        ]
    }


def test_answers_are_found_by_grade_id(tmp_path):
    book = notebook(pad_to=PAD, expected_waste=STUB, nothing="x = 1")
    book["cells"].append({"cell_type": "code", "metadata": {"nbgrader": None}, "source": "1"})
    book["cells"].append({"cell_type": "code", "metadata": {"nbgrader": {"grade_id": "answer-999-x"}}, "source": ""})
    path = tmp_path / "n.ipynb"
    path.write_text(json.dumps(book))
    found = answers(path)
    assert [(a.grade_id, a.problem, a.part, a.module, a.index) for a in found] == [
        ("answer-133-pad_to", 133, "pad_to", "buckets.py", 1),
        ("answer-133-expected_waste", 133, "expected_waste", "buckets.py", 2),
    ]
    assert found[0].source == PAD and answers(book) == found


def test_a_damaged_notebook_is_a_value_error(tmp_path):
    (tmp_path / "n.ipynb").write_text("{")
    with pytest.raises(ValueError):
        answers(tmp_path / "n.ipynb")


def test_assembled_from_what_parses_with_a_reason_for_the_rest():
    made = assemble(answers(notebook(pad_to=PAD, expected_waste=STUB, best_sizes="def best_sizes(:\n")), "buckets.py")
    namespace = {"__name__": "made"}
    exec(compile(made.source, "made", "exec"), namespace)
    assert namespace["pad_to"](3, [2, 4]) == 4
    with pytest.raises(NotImplementedError, match="expected_waste"):
        namespace["expected_waste"]({}, [])
    assert dict(made.left_out) == {
        "answer-133-expected_waste": "it still holds the stub",
        "answer-133-best_sizes": "line 1 is no valid Python (invalid syntax)",
    }


def test_a_later_cell_uses_the_base_and_an_earlier_one_without_importing():
    waste = "def expected_waste(dist: Mapping[int, int], sizes):\n    return pad_to(1, sizes) - 1\n"
    made = assemble(answers(notebook(pad_to=PAD, expected_waste=waste)), "buckets.py")
    namespace = {"__name__": "made"}
    exec(made.source, namespace)
    assert namespace["expected_waste"]({}, [4]) == 3


def test_clashes_null_bytes_and_cells_that_define_nothing_are_left_out():
    made = assemble(
        answers(
            notebook(pad_to="TOP = 1\n", expected_waste="def expected_waste(d, s):\n    return 1\0", best_sizes="")
        ),
        "buckets.py",
    )
    assert made.source == handed_out("buckets.py") and len(made.left_out) == 3


@pytest.mark.parametrize("deep", ["-" * 100_000 + "1", "a" + ".b" * 100_000, "1" + "+1" * 50_000])
def test_a_cell_too_deep_to_read_is_left_out_and_the_others_count(deep, ws):
    broken = f"TOP = {deep}\ndef expected_waste(d, s):\n    return 1\n"
    made = assemble(answers(notebook(pad_to=PAD, expected_waste=broken)), "buckets.py")
    assert "return min(" in made.source
    assert dict(made.left_out) == {"answer-133-expected_waste": "it is nested too deeply to be read as Python"}
    ws[1](pad_to=PAD, expected_waste=broken)
    assert ["does not parse" in line for line in said(ws[0])] == [True]
    (ws[0] / "mini_llm/buckets.py").write_text(broken)
    assert said(ws[0]) == []


@pytest.mark.parametrize("between", [";", "\n"])
def test_thousands_of_imports_take_no_longer_than_they_must(between):
    imports = between.join(f"import m{i}" for i in range(2000))
    start = time.process_time()
    made = assemble(answers(notebook(pad_to=PAD.replace("\n", f"\n{imports}\n", 1))), "buckets.py")
    assert time.process_time() - start < 10  # 20 s when each was added by itself
    assert not made.left_out and made.source.count("import m") >= 2000


@pytest.fixture
def ws(tmp_path):
    """A workspace with a grown pad_to, its state, and a notebook saved after that."""
    names = growing()["buckets.py"]
    change = grow(handed_out("buckets.py"), read_cell(PAD), [], names, handed_out("buckets.py"))
    (tmp_path / "mini_llm").mkdir()
    (tmp_path / "mini_llm/buckets.py").write_text(change.source)
    (tmp_path / ".course").mkdir()
    entries = [{"names": e.names, "pieces": e.pieces, "imports": e.imports, "at": 1000.0} for e in change.entries]
    (tmp_path / ".course/grown.json").write_text(json.dumps({"buckets.py": entries}))

    def save(at=2000, **cells):
        place = tmp_path / "03_x.ipynb"
        place.write_text(json.dumps(notebook(**cells)))
        os.utime(place, (at, at))

    save(pad_to=PAD, expected_waste=STUB)
    return tmp_path, save


def said(ws):
    return differences(problems.get(133), ws=ws)


def test_no_difference_no_words(ws):
    assert said(ws[0]) == []
    (ws[0] / "03_x.ipynb").write_text("{")
    (ws[0] / ".course/grown.json").write_text("[]")
    assert said(ws[0]) == []
    assert said(ws[0] / "nowhere") == []


def test_an_edit_in_the_file_is_named(ws):
    file = ws[0] / "mini_llm/buckets.py"
    file.write_text(file.read_text().replace("default=None", "default=0"))
    assert len(said(ws[0])) == 1 and said(ws[0])[0].startswith("pad_to: mini_llm/buckets.py was edited")


def test_a_saved_cell_that_was_not_run_is_named_a_stale_save_is_not(ws):
    ws[1](pad_to=PAD.replace("default=None", "default=0"))
    assert "answer cell in 03_x.ipynb and mini_llm/buckets.py differ" in said(ws[0])[0]
    ws[1](at=500, pad_to=PAD.replace("default=None", "default=0"))
    assert said(ws[0]) == []
    ws[1](pad_to=PAD.replace("min(", "min("[:3]))
    assert "does not parse" in said(ws[0])[0]


def test_a_file_solved_while_the_cell_is_a_stub_is_named(ws):
    file = ws[0] / "mini_llm/buckets.py"
    stub = 'raise NotImplementedError("grown in chapter 3: expected_waste")'
    assert stub in file.read_text()
    file.write_text(file.read_text().replace(stub, "return 0.0"))
    assert said(ws[0]) == [
        "expected_waste: mini_llm/buckets.py has it, its answer cell in 03_x.ipynb does not. "
        "This verdict is for the file. In a class the cell is graded: run it to bring the two together."
    ]
