"""`reset` and `catch-up`: what the course puts into the learner's modules, and that nothing is lost."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess

import pytest
from judging import judge, run

from grader import cli, problems, progress, rewind
from grader.pieces import binding, split
from grader.problems import ROOT
from grader.stubs import is_stub, stub_module

REFERENCE = '''"""Sizes."""

import math

TOP = 8
_STEP = 4


def base(n):
    return math.floor(n)


def pad(n):
    """Padded."""
    return base(n) + _STEP * _twice(n)


def _twice(n):
    return 2 * n


def waste(n):
    return pad(n) - n + TOP
'''
GROWING = {"pad": 3, "waste": 4}
HANDED = stub_module(REFERENCE, GROWING)


def put(mine: str, theirs: str, *names: str) -> str:
    return rewind.put(mine, theirs, names, GROWING, HANDED)


def texts(source: str) -> dict[str, str]:
    return {name: piece.text for piece in split(source) for name in piece.names}


def test_put_on_the_handed_out_module_gives_the_reference():
    assert "_twice" not in HANDED and "_STEP" not in HANDED
    assert texts(put(HANDED, REFERENCE, "pad", "waste")) == texts(REFERENCE)
    assert put(REFERENCE, REFERENCE, "pad", "waste") == REFERENCE
    space: dict = {}
    exec(put(HANDED, REFERENCE, "pad"), space)
    assert space["pad"](1) == 9
    with pytest.raises(NotImplementedError):
        space["waste"](1)


def test_put_leaves_the_learners_other_pieces():
    mine = HANDED.replace("TOP = 8", "TOP = 16  # mine").replace("import math", "import math\nimport re")
    mine = mine.replace('raise NotImplementedError("grown in chapter 4: waste")', "return other(n)")
    mine += "\n\n# why\ndef other(n):\n    return n\n"
    new = put(mine, REFERENCE, "pad")
    assert texts(new)["pad"] == texts(REFERENCE)["pad"]
    for words in ("TOP = 16  # mine", "import re\n", "return other(n)", "# why\ndef other(n)"):
        assert words in new
    assert put(new, HANDED, "pad").count("def pad") == 1


def test_put_brings_back_what_was_deleted_and_is_needed():
    mine = "def waste(n):\n    return n\n"
    space: dict = {}
    exec(put(mine, REFERENCE, "pad"), space)
    assert space["pad"](1.5) == 13.0 and space["waste"](2) == 2


def test_put_takes_the_last_of_several_definitions_away_too():
    mine = HANDED + "\n\ndef pad(n):\n    return 1\n\n\ndef pad(n):\n    return 2\n"
    assert put(mine, HANDED, "pad").rstrip() == HANDED.rstrip()


def test_helpers_go_with_the_only_function_that_uses_them():
    mine = HANDED.replace('raise NotImplementedError("grown in chapter 3: pad")', "return one(n)")
    mine += "\n\ndef one(n):\n    return two(n) + three(n)\n\n\ndef two(n):\n    return one(n)\n\n\n"
    mine += "def three(n):\n    return n\n\n\ndef four(n):\n    return three(n)\n"
    found = rewind.used_only_by(["pad"], mine, {"TOP", "base", *GROWING})
    assert [p.names for p in found] == [("one",), ("two",)]


@pytest.fixture
def file(workspace):
    run("start", 133)
    place = workspace / "mini_llm" / "buckets.py"
    shutil.copyfile(ROOT / "mini_llm" / "buckets.py", place)
    return place


def restore(output: str) -> None:
    """Runs the command that the output names for bringing everything back."""
    command = next(line for line in output.splitlines() if line.startswith("  cp "))
    subprocess.run(command, shell=True, check=True)


def test_reset_puts_the_stubs_back_and_the_backup_brings_all_back(file):
    before = file.read_bytes()
    assert judge(133)["verdict"] == "accepted"
    run("hint", 133)
    refused = run("reset", 133)
    assert refused.returncode == 2 and "--yes" in refused.stderr and file.read_bytes() == before
    done = run("reset", 133, "--yes")
    assert done.returncode == 0, done.stderr
    pieces = split(file.read_text())
    for name in problems.get(133).names:
        assert is_stub(binding(pieces, [name])[0].nodes[0])
    assert texts(file.read_text())["default_capture_sizes"] == texts(before.decode())["default_capture_sizes"]
    assert progress.status(problems.get(133)) == "not started"
    assert run("hint", 133).stdout.startswith("Hint 1 ")
    again = run("reset", 133, "--yes")
    assert again.returncode == 0 and "Nothing to reset" in again.stdout
    restore(done.stdout)
    assert file.read_bytes() == before and progress.status(problems.get(133)) == "accepted"


def test_reset_keeps_line_ends_and_a_byte_order_mark(file):
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))
    assert run("reset", 133, "--yes").returncode == 0
    data = file.read_bytes()
    assert data.startswith(b"\xef\xbb\xbf") and data.count(b"\n") == data.count(b"\r\n") > 50


def test_reset_of_a_file_that_does_not_parse_needs_the_whole_file(file):
    file.write_text("def pad_to(:\n")
    refused = run("reset", 133, "--yes")
    assert refused.returncode == 2 and "line 1" in refused.stderr and "--whole-file" in refused.stderr
    assert file.read_text() == "def pad_to(:\n"
    done = run("reset", 133, "--whole-file", "--yes")
    assert done.returncode == 0 and "grown in chapter" in file.read_text()
    restore(done.stdout)
    assert file.read_text() == "def pad_to(:\n"


def test_a_helper_that_another_module_uses_stays(file, workspace):
    helper = "\n\ndef my_helper(n):\n    return n\n\n\ndef pad_to(bs, sizes):\n    return my_helper(bs)\n"
    file.write_text(file.read_text() + helper)
    (workspace / "mini_llm" / "mine.py").write_text("from .buckets import my_helper\n")
    run("reset", 133, "--yes")
    assert "def my_helper" in file.read_text()
    (workspace / "mini_llm" / "mine.py").unlink()
    file.write_text(file.read_text() + helper)
    said = run("reset", 133, "--yes").stdout
    assert "my_helper" in said and "def my_helper" not in file.read_text()


def test_two_backups_of_one_second_are_two(file, workspace):
    kept = {rewind.keep(file) for _ in range(3)}
    assert len(kept) == 3 and all(k.read_bytes() == file.read_bytes() for k in kept)


def test_a_backup_that_cannot_be_made_stops_everything(file, workspace):
    before = file.read_bytes()
    (workspace / ".course" / "backups").write_text("in the way")
    ran = run("reset", 133, "--yes")
    assert ran.returncode == 2 and "nothing was changed" in ran.stderr and file.read_bytes() == before


def test_catch_up_brings_every_chapter_before_it_and_no_other(workspace, capsys):
    chapters = sorted({p.chapter for p in problems.load_all().values()})
    for chapter in [*chapters, chapters[-1] + 1]:
        assert cli.main(["catch-up", str(chapter), "--yes"]) == 0
        for module, about in problems.growing().items():
            mine = texts((workspace / "mini_llm" / module).read_text())
            theirs = texts((ROOT / "mini_llm" / module).read_text())
            for name, (_, when) in about.items():
                if when < chapter:
                    assert mine[name] == theirs[name]
                else:
                    assert is_stub(mine[name]), f"{name} of chapter {when} was touched"
    assert cli.main(["catch-up", str(chapters[-1] + 1), "--yes"]) == 0
    assert "Nothing to do" in capsys.readouterr().out
    summary = progress.rows()
    assert all(row["given"] and row["status"] == "started" for row in summary)


def test_catch_up_keeps_all_that_was_there(file, workspace):
    last = max(p.chapter for p in problems.load_all().values()) + 1
    file.write_text(file.read_text() + "\n\ndef pad_to(bs, sizes):\n    return 7\n\n\ndef mine():\n    return 1\n")
    (workspace / "mini_llm" / "model.py").open("a").write("# mine\n")
    (workspace / "mini_llm" / "notes.txt").write_text("mine\n")
    os.mkfifo(workspace / "mini_llm" / "pipe")
    before = file.read_bytes()
    assert judge(133)["verdict"] == "wrong answer"
    refused = run("catch-up", last)
    assert refused.returncode == 2 and "buckets.py: pad_to" in refused.stdout and file.read_bytes() == before
    done = run("catch-up", last, "--yes")
    assert done.returncode == 0, done.stderr
    assert judge(133)["verdict"] == "accepted" and "def mine()" in file.read_text()
    assert "model.py has changes of yours and stays so" in done.stdout
    restore(done.stdout)
    assert file.read_bytes() == before and (workspace / "mini_llm" / "notes.txt").read_text() == "mine\n"
    kept = shlex.split(next(line for line in done.stdout.splitlines() if line.startswith("  cp ")))[2]
    assert (workspace / ".course" / "backups") in type(file)(kept).parents


def test_catch_up_with_a_broken_file_says_which_or_replaces_it(file, monkeypatch, workspace, capsys):
    file.write_text("def pad_to(:\n")
    last = max(p.chapter for p in problems.load_all().values()) + 1
    assert cli.main(["catch-up", str(last), "--yes"]) == 0
    assert file.read_text() == (ROOT / "mini_llm" / "buckets.py").read_text()
    restore(capsys.readouterr().out)
    grown = problems.growing()
    grown["buckets.py"] = dict.fromkeys(grown["buckets.py"], (133, 3)) | {"pad_to": (133, 4)}
    monkeypatch.setattr(problems, "growing", lambda: grown)
    assert cli.main(["catch-up", "4", "--yes"]) == 2
    assert "buckets.py, line 1, is no valid Python" in capsys.readouterr().err
    assert file.read_text() == "def pad_to(:\n"
