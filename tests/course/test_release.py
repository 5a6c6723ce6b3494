"""The learner's notebooks: what nbgrader itself would release, brought into the workspace without harm."""

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import nbformat
import pytest

from grader.cells import answers
from grader.growth import read_cell
from grader.problems import growing
from kit import learn
from kit.chapter import KERNEL
from kit.learn import bring_notebooks
from kit.release import CODE_STUB, TEXT_STUB, release

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "course" / "source"
CHAPTER = SOURCE / "03_bucket_sizes" / "03_bucket_sizes.ipynb"


def test_release_equals_nbgraders_own(tmp_path):
    course = tmp_path / "course"
    shutil.copytree(CHAPTER.parent, course / "source" / "03_bucket_sizes")
    (course / "nbgrader_config.py").write_text(
        "from kit.release import config\nc = get_config()\nc.merge(config())\nc.CourseDirectory.course_id = 'x'\n"
    )
    env = os.environ | {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PYTHONPATH": os.pathsep.join([str(ROOT / "course"), str(ROOT / "practice")]),
    }
    command = [sys.executable, "-m", "nbgrader", "generate_assignment", "03_bucket_sizes"]
    done = subprocess.run(command, cwd=course, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    theirs = nbformat.read(course / "release/03_bucket_sizes/03_bucket_sizes.ipynb", as_version=4)
    assert release(nbformat.read(CHAPTER, as_version=4)) == theirs


def test_no_solution_is_left_and_every_answer_is_a_stub():
    nb = release(nbformat.read(CHAPTER, as_version=4))
    found = answers(nb)
    assert {a.part for a in found} == set(growing()["buckets.py"])
    for answer in found:
        assert answer.source.rstrip().endswith(CODE_STUB) and "SOLUTION" not in answer.source
        assert read_cell(answer.source).stubs(growing()[answer.module]) == [answer.part]
    assert [c.source for c in nb.cells if c.id.startswith("written-")] == [TEXT_STUB]


@pytest.fixture
def source(tmp_path):
    """A source folder with one small notebook; call it with a new text for the first cell."""

    def put(text):
        nb = nbformat.v4.new_notebook(metadata={"kernelspec": KERNEL})
        nb.cells = [nbformat.v4.new_markdown_cell(text, id="one")]
        (tmp_path / "source" / "01_x").mkdir(parents=True, exist_ok=True)
        nbformat.write(nb, tmp_path / "source" / "01_x" / "01_x.ipynb")
        return tmp_path / "source"

    return put


def test_a_notebook_is_brought_once_and_follows_while_untouched(source, tmp_path):
    ws = tmp_path / "ws"
    assert bring_notebooks(ws, source("a")) == [f"{ws}/01_x.ipynb is new."]
    assert bring_notebooks(ws, source("a")) == []
    assert bring_notebooks(ws, source("b")) == [f"{ws}/01_x.ipynb is up to date again."]
    assert '"b"' in (ws / "01_x.ipynb").read_text()


def test_a_changed_notebook_goes_beside_the_learners_with_one_line(source, tmp_path):
    ws = tmp_path / "ws"
    bring_notebooks(ws, source("a"))
    mine = ws / "01_x.ipynb"
    mine.write_text(mine.read_text().replace('"a"', '"a, and my own words"'))
    before = mine.read_bytes()
    said = bring_notebooks(ws, source("b"))
    assert len(said) == 1 and "01_x.new.ipynb" in said[0]
    assert mine.read_bytes() == before and '"b"' in (ws / "01_x.new.ipynb").read_text()
    assert bring_notebooks(ws, source("b")) == []
    mine.unlink()
    assert bring_notebooks(ws, source("b")) == [f"{mine} is new."]


def test_a_lost_manifest_leaves_the_learners_notebook(source, tmp_path):
    ws = tmp_path / "ws"
    bring_notebooks(ws, source("a"))
    mine = ws / "01_x.ipynb"
    mine.write_text(mine.read_text().replace('"a"', '"mine"'))
    shutil.rmtree(ws / ".course")
    assert len(bring_notebooks(ws, source("a"))) == 1
    assert '"mine"' in mine.read_text()


def learn_once(ws):
    env = os.environ | {"PYTHONPATH": "course:practice", "MINI_LLM_WORKSPACE": str(ws), "OPEN": "0"}
    command = [sys.executable, "-m", "kit.learn"]
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=60)


def test_learn_twice(tmp_path):
    ws = tmp_path / "ws"
    first = learn_once(ws)
    assert first.returncode == 0, first.stderr
    assert "your own copy of the package" in first.stdout and "03_bucket_sizes.ipynb is new" in first.stdout
    assert first.stdout.splitlines()[-1].endswith(f"at /lab/tree/{sorted(SOURCE.glob('*/*.ipynb'))[0].name}.")
    mine = ws / "mini_llm" / "buckets.py"
    mine.write_text(mine.read_text() + "\n# my thoughts\n")
    kept = {p: p.read_bytes() for p in ws.rglob("*") if p.is_file()}
    second = learn_once(ws)
    assert second.returncode == 0 and len(second.stdout.splitlines()) == 1
    assert {p: p.read_bytes() for p in ws.rglob("*") if p.is_file()} == kept


def test_lab_starts_in_the_workspace_at_the_notebook(tmp_path, monkeypatch):
    ran = []
    monkeypatch.setenv("MINI_LLM_WORKSPACE", str(tmp_path / "ws"))
    monkeypatch.delenv("OPEN", raising=False)
    monkeypatch.setattr(os, "execv", lambda program, args: ran.append((program, args, os.getcwd())))
    monkeypatch.chdir(ROOT)
    for name in ("PATH", "PYTHONPATH", "MINI_LLM_COURSE"):
        monkeypatch.setenv(name, os.environ.get(name, ""))
    learn.main([])
    program, args, folder = ran[0]
    assert program == sys.executable and args[1:3] == ["-m", "jupyterlab"]
    assert folder == str(tmp_path / "ws") and f"--ServerApp.root_dir={tmp_path / 'ws'}" in args
    name = args[-1].removeprefix("--LabApp.default_url=/lab/tree/")
    assert name.endswith(".ipynb") and (tmp_path / "ws" / name).exists()


def test_without_a_browser_the_printed_address_is_the_notebooks(tmp_path):
    command = [*learn.lab_command(tmp_path, tmp_path / "01 a.ipynb"), "--no-browser", "--ServerApp.port=0"]
    home = {f"JUPYTER_{name}_DIR": str(tmp_path / name) for name in ("CONFIG", "RUNTIME", "DATA")}
    server = subprocess.Popen(command, cwd=tmp_path, env=os.environ | home, stderr=subprocess.PIPE, text=True)
    stop = threading.Timer(120, server.kill)  # a server that says nothing ends the test
    stop.start()
    try:
        address = next((line for line in server.stderr if "http://" in line), "")
        assert "/lab/tree/01%20a.ipynb?token=" in address
    finally:
        stop.cancel()
        server.kill()  # it has started nothing of its own, and a polite end may take a busy machine very long
        server.communicate()
