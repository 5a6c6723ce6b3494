"""%%grow in a real shell: what it writes, what it refuses, and what it says."""

import json
import re

import pytest

from kit import conflict

STUB = """%%grow mini_llm/buckets.py
def pad_to(bs, sizes):
    '''Doc.'''
    raise NotImplementedError("replace this line with your code")
"""
PAD = """%%grow mini_llm/buckets.py
def pad_to(bs, sizes):
    return min((s for s in sizes if s >= bs), default=None)
"""


@pytest.fixture
def run(shell, capsys):
    """Runs a cell; gives its result with what it printed as `.said`."""

    def run(source):
        capsys.readouterr()
        result = shell.run_cell(source, store_history=True)
        result.said = capsys.readouterr().out
        return result

    return run


@pytest.fixture
def file(ws):
    return ws / "mini_llm" / "buckets.py"


def test_an_untouched_stub_grows_nothing_and_says_what_to_do(run, file):
    before = file.read_bytes()
    result = run(STUB)
    assert result.success and file.read_bytes() == before
    assert "write pad_to in place of the `raise NotImplementedError` line" in result.said
    result = run("pad_to(1, [1])")
    assert "pad_to is not written yet" in result.said and "Traceback" not in result.said


def test_a_stubs_raise_that_was_left_below_the_code_is_named_by_its_line(run, file):
    left = STUB.replace("    raise", "    for size in sizes:\n        if size >= bs: return size\n    raise")
    result = run(left)
    assert "has grown: pad_to" in result.said
    assert "the stub's raise is still in line 6: take it out" in result.said
    line = file.read_text().split("\n").index('    raise NotImplementedError("replace this line with your code")') + 1
    result = run("pad_to(9, [4])")
    assert f"the stub's raise is still in line {line} of mini_llm/buckets.py" in result.said
    assert "not written yet" not in result.said and "Traceback" not in result.said
    assert "raise is still" not in run(PAD).said


def test_the_next_cell_and_all_that_is_loaded_see_the_function(run, file):
    run("import mini_llm, mini_llm.buckets as b\nfrom mini_llm.buckets import pad_to as mine")
    result = run(PAD)
    assert result.said == "mini_llm/buckets.py has grown: pad_to.\n"
    assert run("[b.pad_to(3, [4]), mini_llm.pad_to(3, [4]), mine(3, [4]), pad_to(3, [4])]").result == [4] * 4
    assert run("b.padding_stats({3: 1}, [4]).rows_per_step").result == 1  # a base function of the module
    assert run("import inspect; inspect.getsource(pad_to)").result == PAD.split("\n", 1)[1]
    assert "def pad_to(bs, sizes):\n    return min" in file.read_text()


def test_a_second_run_with_a_helper_renamed_removes_the_old_one(run, file):
    run(
        "%%grow mini_llm/buckets.py\nimport math\nTOP = 512\n\n"
        "def first(found):\n    return next(found, None)\n\n"
        "def pad_to(bs, sizes):\n    return first(s for s in sizes if bs <= s <= TOP)\n"
    )
    assert "def first" in file.read_text() and "import math" in file.read_text()
    result = run(
        "%%grow mini_llm/buckets.py\ndef lowest(found):\n    return next(found, None)\n\n"
        "def pad_to(bs, sizes):\n    return lowest(s for s in sizes if bs <= s)\n"
    )
    text = file.read_text()
    assert "has grown: lowest, pad_to; taken out: TOP, first." in result.said
    assert "def lowest" in text and not any(gone in text for gone in ("def first", "TOP = ", "import math"))
    assert run("import mini_llm.buckets as b; hasattr(b, 'first'), b.pad_to(3, [4])").result == (False, 4)


def edited(run, file):
    """Grows, then edits the file as in an editor."""
    run(PAD)
    file.write_text(file.read_text().replace("default=None", "default=-1"))
    return PAD.replace("default=None", "default=0")


def test_an_edit_made_in_the_file_is_shown_and_not_overwritten(run, file):
    other = edited(run, file)
    before = file.read_bytes()
    result = run(other)
    assert result.success and file.read_bytes() == before
    assert "was edited since. Nothing was overwritten." in result.said
    assert "-     return min((s for s in sizes if s >= bs), default=-1)" in result.said
    assert "+     return min((s for s in sizes if s >= bs), default=0)" in result.said


def test_take_cell_writes_it_and_keeps_a_backup(run, file, ws):
    run(edited(run, file))
    conflict._latest[0].shell.user_ns["kit_take"] = conflict.take
    result = run("kit_take('cell')")
    assert "default=0" in file.read_text() and "has grown: pad_to" in result.said
    backups = list((ws / ".course" / "backups").iterdir())
    assert len(backups) == 1 and "default=-1" in backups[0].read_text()
    assert run("pad_to(9, [4])").result == 0
    assert "no difference to settle" in run("kit_take('cell')").said


def test_take_file_leaves_it_and_the_cell_receives_it(run, file, shell, monkeypatch):
    other = edited(run, file)
    run(other)
    before = file.read_bytes()
    conflict.take("file")
    assert file.read_bytes() == before
    given = []
    monkeypatch.setattr(shell, "set_next_input", lambda text, replace=False: given.append((text, replace)))
    result = run(other)  # the cell as it was: it receives the file's text, and nothing runs
    assert given == [(PAD.replace("default=None", "default=-1").rstrip("\n"), True)]
    assert "holds the file's version" in result.said and file.read_bytes() == before
    assert "is as this cell says" in run(given[0][0]).said
    assert "has grown" in run(other).said  # a new edit of the cell is an edit like any other


def test_what_is_loaded_follows_the_file_that_was_taken(run, file):
    run("import mini_llm.buckets as b")
    run(edited(run, file))
    assert run("b.pad_to(9, [4])").result is None  # imported before the edit
    conflict.take("file")
    assert run("b.pad_to(9, [4]), pad_to(9, [4])").result == (-1, -1)


def test_a_function_deleted_in_the_file_leaves_nothing_to_take_but_the_cell(run, file):
    helper = PAD.replace("\n", "\ndef mine():\n    return 1\n\n", 1)
    run(helper)
    whole = file.read_text()
    without = whole[: whole.index("def pad_to")] + whole[whole.index("def expected_waste") :]
    file.write_text(without)
    assert "was edited since" in run(helper).said
    assert "nothing to take" in conflict._latest[0].take_file()
    conflict.take("cell")
    assert "def pad_to" in file.read_text()


def test_the_buttons_do_the_same_in_a_notebook(run, file, monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda *things: shown.extend(things))
    run(edited(run, file))
    box = shown[0].widget
    picture, buttons, _ = box.children
    assert "kit-diff" in picture.value and "default=-1" in picture.value
    take_file, take_cell = buttons.children
    assert take_file.description == "take file: this cell gets the file's version"
    assert take_cell.description == "take cell: the file gets this cell's version"
    take_cell.click()
    assert "default=0" in file.read_text()
    # what was done stands in the place of the difference and its buttons
    assert "the cell&#x27;s version was taken" in picture.value and "kept: .course/backups" in picture.value
    assert "Nothing was overwritten" not in picture.value and buttons.children == ()


def test_a_click_that_cannot_be_done_says_so_and_may_be_repeated(run, file, monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda *things: shown.extend(things))
    run(edited(run, file))
    picture, buttons, _ = shown[0].widget.children
    good = file.read_text()
    file.write_text(good + "\ndef (:\n")
    buttons.children[1].click()
    assert "is no valid Python" in picture.value and "Nothing was overwritten" in picture.value
    file.write_text(good)
    buttons.children[1].click()
    assert "default=0" in file.read_text() and buttons.children == ()


def test_the_difference_is_escaped(run, file, monkeypatch):
    edited(run, file)
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda *things: shown.extend(things))
    run(PAD.replace("default=None", "default='<script>alert(1)</script>'"))
    assert "<script>alert" not in shown[0].widget.children[0].value.replace("<style>", "")


def test_a_file_solved_in_an_editor_can_be_taken_into_an_untouched_cell(run, file):
    run("import mini_llm.buckets")
    run(PAD)
    file.write_text(file.read_text().replace("default=None", "default=7"))
    result = run(STUB)
    assert "still holds the stub, but mini_llm/buckets.py has pad_to already" in result.said
    conflict.take("cell")  # there is no cell to take: the file stands
    assert "default=7" in file.read_text()


def test_a_syntax_error_leaves_the_file_and_names_the_line(run, file):
    before = file.read_bytes()
    result = run(PAD + "    x = (\n")
    assert isinstance(result.error_in_exec, SyntaxError) and file.read_bytes() == before
    assert re.search(r"(line |:)4\b", result.said) and "x = (" in result.said and "interactiveshell" not in result.said
    result = run(PAD + "return 1\n")
    assert isinstance(result.error_in_exec, SyntaxError) and re.search(r"(line |:)4\b", result.said)


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (PAD.replace("buckets.py", "model.py"), "mini_llm/model.py is not a file that grows"),
        (PAD.replace("buckets.py", "bucket.py"), "did you mean mini_llm/buckets.py?"),
        (PAD.replace("mini_llm/", "mini_llm/../"), "must be one inside mini_llm/"),
        (PAD.replace("mini_llm/", "/tmp/"), "must be one inside mini_llm/"),
        (PAD.replace(" mini_llm/buckets.py", ""), "%%grow needs the file to grow"),
        (
            PAD.replace("pad_to", "padto"),
            "it must define pad_to, expected_waste, best_sizes or default_capture_sizes.",
        ),
        (
            "%%grow mini_llm/buckets.py\n%time 1\n" + PAD.split("\n", 1)[1],
            "Line 2 is a command of the notebook",
        ),
        (
            PAD + "\ndef padding_stats():\n    pass\n",
            "`padding_stats` is a part of this module that is not yours",
        ),
    ],
)
def test_what_cannot_be_is_one_clear_sentence(run, file, source, says):
    before = {p: p.read_bytes() for p in file.parent.glob("*.py")}
    result = run(source)
    assert result.error_in_exec and says in result.said
    assert "Traceback" not in result.said and len(result.said.strip().splitlines()) == 1
    assert {p: p.read_bytes() for p in file.parent.glob("*.py")} == before


def test_a_cell_that_names_the_wrong_growing_module_is_told_the_right_one(run, file, monkeypatch):
    monkeypatch.setattr("kit.grow.growing", lambda: {"buckets.py": {"pad_to": (133, 3)}, "model.py": {"go": (1, 1)}})
    result = run(PAD.replace("buckets.py", "model.py"))
    assert "pad_to belongs in mini_llm/buckets.py: the first line must be `%%grow mini_llm/buckets.py`." in result.said


def test_statements_run_but_are_not_written_and_the_last_value_shows(run, file):
    result = run(PAD + "\nprint('here', pad_to(3, [4]))\nassert pad_to(5, [4]) is None\npad_to(1, [2])\n")
    assert "Only run here, not written to the file: lines 5, 6, 7." in result.said
    assert "here 4" in result.said and result.said.rstrip().endswith("2")
    assert "print" not in file.read_text() and "assert" not in file.read_text()


def test_a_definition_that_raises_writes_nothing_a_later_assert_does(run, file):
    before = file.read_bytes()
    result = run(PAD + "LIMIT = 1 / 0\n")
    assert isinstance(result.error_in_exec, ZeroDivisionError) and file.read_bytes() == before
    assert "----> 4 LIMIT = 1 / 0" in result.said and "magic.py" not in result.said
    result = run(PAD + "assert pad_to(1, [1]) == 2\n")
    assert isinstance(result.error_in_exec, AssertionError) and "return min" in file.read_text()


def test_names_that_only_the_notebook_knows_are_pointed_out(run, file):
    run("import math as m\nlimit = 8")
    result = run("%%grow mini_llm/buckets.py\ndef pad_to(bs, sizes):\n    return m.floor(bs) + limit + nowhere\n")
    assert "`m` is used" in result.said and "add `import math as m` to the cell." in result.said
    assert "`limit` is used" in result.said and "define it in the cell." in result.said
    assert "`nowhere` is used, but nothing defines it" in result.said
    before = file.read_bytes()
    result = run("%%grow mini_llm/buckets.py\nTOP = m.pi\ndef pad_to(bs, sizes):\n    return TOP\n")
    assert "nothing was written: add `import math as m` to the cell." in result.said
    assert file.read_bytes() == before and run("pad_to.__code__.co_consts").success


def test_a_name_that_an_import_gives_is_to_be_imported_not_defined(run):
    use = "%%grow mini_llm/buckets.py\ndef pad_to(bs, sizes):\n    return heapq.nsmallest(1, sizes) + [pi * bs]\n"
    said = run(use).said
    assert "`heapq` is used, but nothing defines it" in said and "import it in the cell, with `import heapq`." in said
    assert "nothing defines it, not this cell and not mini_llm/buckets.py: define it in the cell." in said  # pi
    run(use.replace("def", "import heapq\nfrom math import pi\ndef", 1))
    assert "import it in the cell, with `from math import pi`." in run(use).said  # the file had it until now


def test_what_the_file_sees_the_cell_sees(run):
    result = run(
        "%%grow mini_llm/buckets.py\ndef pad_to(bs: int, sizes: Sequence[int]):\n    return bisect_left(sizes, bs)\n"
    )
    assert result.success and "is used" not in result.said


def test_a_cell_may_import_from_the_package_what_the_module_holds(run, file):
    run(PAD)
    cell = "from mini_llm.buckets import pad_to\ndef expected_waste(dist, sizes):\n    return pad_to(3, sizes)\n"
    assert "has grown: expected_waste." in run("%%grow mini_llm/buckets.py\n" + cell).said
    assert "from mini_llm" not in file.read_text() and run("expected_waste({}, [4])").result == 4


def test_a_file_that_does_not_parse_or_import_is_named(run, file):
    good = file.read_text()
    file.write_text(good + "\ndef (:\n")
    assert "is no valid Python" in run(PAD).said
    file.write_text(good + "\n1 / 0\n")
    result = run(PAD)
    assert "mini_llm/buckets.py cannot be imported (ZeroDivisionError: division by zero)" in result.said


def test_line_ends_and_other_text_of_the_file_stay(run, file):
    original = file.read_text()
    file.write_bytes((original + "\n# my own note\n").replace("\n", "\r\n").encode())
    run(PAD)
    after = file.read_bytes()
    assert after.count(b"\r\n") == after.count(b"\n") and b"# my own note" in after


def test_two_cells_of_one_module_do_not_disturb_each_other(run, file, ws):
    run(PAD)
    run("%%grow mini_llm/buckets.py\ndef expected_waste(dist, sizes):\n    return 0.0 * pad_to(1, sizes)\n")
    assert run("expected_waste({}, [1])").result == 0.0
    state = json.loads((ws / ".course" / "grown.json").read_text())
    assert [e["names"] for e in state["buckets.py"]] == [["pad_to"], ["expected_waste"]]
    assert "is as this cell says" in run(PAD).said


def test_a_missing_workspace_is_one_sentence(run, ws, monkeypatch):
    monkeypatch.setenv("MINI_LLM_WORKSPACE", str(ws / "nowhere"))
    assert run(PAD).said.strip() == "There is no workspace yet: run `make learn` in the course's folder once."


def test_names_missing_because_a_cell_waited_are_explained(run):
    run("import mini_llm.buckets as b")
    run("sizes = [b.pad_to(1, [1])]\nfor one in sizes:\n    pass")
    assert run("print(sizes)").said.strip() == "sizes comes from a cell above that waits for pad_to."
    assert "NameError" in run("print(other)").said
    assert "NotImplementedError" in run("raise NotImplementedError('mine')").said
