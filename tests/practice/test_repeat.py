"""--save-input: the input that a test failed with, as a program that calls the learner's code with it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from math import inf, nan

import pytest
import torch
from judging import judge, run

from grader import repeat
from grader.compare import difference
from grader.problems import ROOT, get

WIDE = os.environ | {"COLUMNS": "200"}
WRONG = "def name_cause(*args):\n    return f'called with {len(args)}, {args[0][0].dtype}, {float(args[0][0].sum())}'\n"


def ran(program, cwd) -> str:
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, cwd=cwd, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_program_gets_what_the_report_shows(submit, tmp_path):
    """And a report that cuts its input says how to get it."""
    shown = run(143, submit(WRONG), "--part", "name_cause", "--save-input", tmp_path / "input.py", env=WIDE).stdout
    got = re.search(r"got +(\S.*)", shown)[1].strip()
    assert repr(ran(tmp_path / "input.py", "/")) == got
    assert "as a program: " in shown and "--save-input input.py" in shown


def test_the_learners_own_file_is_called_as_it_stands_then(workspace, tmp_path):
    assert run("start", 134).returncode == 0
    mine = workspace / "mini_llm" / get(134).module
    mine.write_text(mine.read_text() + "\ndef default_capture_sizes(*args, **kwargs):\n    return ['before']\n")
    judge(134, "--save-input", tmp_path / "input.py")
    assert ran(tmp_path / "input.py", "/") == "['before']"
    mine.write_text(mine.read_text().replace("before", "after"))
    assert ran(tmp_path / "input.py", "/") == "['after']"


@pytest.mark.parametrize(
    "value",
    [
        torch.tensor([[1 / 3, -0.0, nan, inf]]),
        torch.randn(3, 5).bfloat16(),
        torch.randn(2, 2, dtype=torch.float64),
        torch.zeros(0, 4, dtype=torch.int32),
        torch.tensor(True),
        [1, "a'b\n", (2.5, None), {"k": [-inf]}, (1,), True],
    ],
    ids=["odd", "bfloat16", "float64", "empty", "no dimension", "plain"],
)
def test_every_value_is_written_out_exactly(value):
    again = eval(repeat._literal(value), {"torch": torch, "nan": nan, "inf": inf})
    assert difference(again, value) is None


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("notes.txt", "name of a Python file"),
        ("away/input.py", "its folder is missing"),
        ("mine.py", "name another file"),
        ("folder.py", "one itself"),
    ],
)
def test_nothing_is_overwritten_or_judged(submit, tmp_path, name, says):
    file = submit("def default_capture_sizes(): return 0\n")
    (tmp_path / "folder.py").mkdir()
    before = file.read_text()
    done = run(134, file, "--save-input", tmp_path / name)
    assert done.returncode == 2 and says in done.stderr and not done.stdout
    assert file.read_text() == before and not (tmp_path / "away").exists()


@pytest.mark.parametrize("kind", ["pipe", "link", "dangling link"])
def test_what_is_no_plain_file_is_left_alone(submit, tmp_path, kind):
    place, target = tmp_path / "input.py", tmp_path / "target.txt"
    if kind == "pipe":
        os.mkfifo(place)  # to read it would wait for ever
    else:
        place.symlink_to(target)
    if kind == "link":
        target.write_text("mine")
    done = run(134, submit("def default_capture_sizes(*a, **k): return 0\n"), "--save-input", place, timeout=60)
    assert done.returncode == 2 and "no plain file" in done.stderr
    assert target.exists() == (kind == "link") and (kind != "link" or target.read_text() == "mine")


def test_a_second_time_it_takes_the_place_of_the_first(submit, tmp_path):
    for answer in ("1", "2"):  # and the report, which shows all of it, says nothing of a program
        report = judge(134, submit(f"def default_capture_sizes(*a, **k): return {answer}\n"), "--save-input",
                       tmp_path / "input.py")  # fmt: skip
        assert report["exit"] == 1
        assert ran(tmp_path / "input.py", tmp_path) == answer


def test_without_an_input_it_says_so(submit, tmp_path):
    right = judge(134, ROOT / "mini_llm" / get(134).module, "--save-input", tmp_path / "input.py")
    assert any("Nothing failed" in note for note in right["notes"])
    objects = judge(142, submit("def CudagraphDispatcher(*args): return 0\n"), "--save-input", tmp_path / "input.py")
    assert any("all there is" in note for note in objects["notes"])
    assert not (tmp_path / "input.py").exists()


def test_the_program_for_a_module_of_the_package_finds_the_rest_of_it(submit, tmp_path):
    file = submit("from .config import Config\ndef pad_to(bs, sizes): return len(Config.__name__) + 600\n")
    report = judge(133, file, "--package", "--part", "pad_to", "--save-input", tmp_path / "input.py")
    assert report["verdict"] == "wrong answer"
    assert ran(tmp_path / "input.py", tmp_path) == next(t["got"] for t in report["tests"] if t["got"])


def test_the_input_of_a_crash_is_kept(submit, tmp_path):
    file = submit("import ctypes\ndef pad_to(bs, sizes): ctypes.string_at(0)\n")
    report = judge(133, file, "--part", "pad_to", "--save-input", tmp_path / "input.py")
    first = report["tests"][0]
    assert report["verdict"] == "crashed" and first["call"].startswith("pad_to(") and first["expected"]
    done = subprocess.run([sys.executable, str(tmp_path / "input.py")], capture_output=True)
    assert done.returncode < 0


def test_the_judged_file_is_not_written_over_even_if_it_began_as_such_a_program(submit, tmp_path):
    file = submit(f"{repeat.HEAD}\ndef pad_to(bs, sizes): return 0\n")
    before = file.read_text()
    done = run(133, file, "--save-input", file)
    assert done.returncode == 2 and "the file that is judged" in done.stderr and file.read_text() == before
