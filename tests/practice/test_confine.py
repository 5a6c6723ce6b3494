"""What a submission leaves in its scratch folder goes, whatever it is."""

from __future__ import annotations

import os

import pytest

from grader import confine


def deep(folder):
    here = os.getcwd()
    os.chdir(folder)
    for _ in range(2000):  # far beyond PATH_MAX and Python's recursion limit
        os.mkdir("d" * 50)
        os.chdir("d" * 50)
    os.chdir(here)


def closed(folder):
    for name in ("a", "b"):
        (folder / name / "inside").mkdir(parents=True)
        (folder / name / "inside" / "file").write_text("x")
        (folder / name / "inside").chmod(0)
        (folder / name).chmod(0)


def odd(folder):
    (folder / "link").symlink_to(folder.parent)
    (folder / "dangling").symlink_to("nowhere")
    os.mkfifo(folder / "pipe")
    (folder / "name\nwith\x1b[31m").mkdir()


def alike(folder):
    for a in "ab":
        for b in "ab":
            (folder / a / b / "same" / "same").mkdir(parents=True)


@pytest.mark.parametrize("make", [deep, closed, odd, alike])
def test_a_folder_is_emptied_whatever_is_in_it(make, tmp_path):
    scratch, beside = tmp_path / "scratch", tmp_path / "beside"
    scratch.mkdir()
    beside.write_text("stays")
    make(scratch)
    assert confine.empty(str(scratch), 60)
    assert list(scratch.iterdir()) == [] and beside.read_text() == "stays"


def test_emptying_ends_when_its_time_is_over(tmp_path):
    (tmp_path / "file").write_text("x")
    assert not confine.empty(str(tmp_path), -1)


def test_the_size_of_a_folder_is_counted_up_to_a_bound(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").write_bytes(b"x" * 300_000)
    assert 300_000 <= confine.size_of(str(tmp_path), 1 << 20) < 400_000
    assert confine.size_of(str(tmp_path), 1000) > 1000
