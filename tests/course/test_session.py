"""kit.start(): the workspace's package is what a notebook imports, and it says so."""

import subprocess
import sys
from pathlib import Path

from kit import session
from kit.directives import SETUP

ROOT = Path(__file__).resolve().parents[2]


def first_cell(cwd, workspace, code="", **env):
    """Runs the setup cell in a fresh Python, as a kernel would, and then `code`."""
    done = subprocess.run(
        [sys.executable, "-c", f"{SETUP}\n{code}"],
        cwd=cwd, env={"MINI_LLM_WORKSPACE": str(workspace), **env}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_names_the_workspaces_package_and_imports_it_from_any_folder(ws):
    deep = ws / "a" / "b"
    deep.mkdir(parents=True)
    code = "import mini_llm.buckets as b; print(b.__file__); import sys; print('torch' in sys.modules)"
    for cwd in (ws, deep, ROOT, ROOT / "course" / "source"):
        said = first_cell(cwd, ws, code, MINI_LLM_COURSE=str(ROOT)).splitlines()
        assert said[0] == f"mini_llm: yours, in {ws}/mini_llm" and said[1].startswith("torch: ")
        assert said[2:] == [f"{ws}/mini_llm/buckets.py", "False"]


def test_the_first_cell_says_when_to_run_it_again_and_where_grow_stands():
    assert "again after every restart" in SETUP and "`%%grow` must be the first line" in SETUP


def test_the_course_is_found_beside_the_environment_without_any_variable(ws, tmp_path):
    if Path(sys.prefix).parent == ROOT:
        assert "mini_llm: yours" in first_cell(tmp_path, ws)


def test_a_course_that_is_not_found_is_one_sentence(tmp_path):
    code = SETUP.replace("Path(sys.prefix).parent", '"."')
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env={}, capture_output=True, text=True)
    assert done.returncode == 0 and "run `make learn`" in done.stdout and len(done.stdout.splitlines()) == 1


def test_a_missing_workspace_is_one_sentence_with_the_command(tmp_path):
    said = " ".join(first_cell(ROOT, tmp_path / "none").split())
    assert said == f"There is no workspace yet: run `make learn` in {ROOT}, then restart this kernel."


def test_another_mini_llm_that_is_loaded_already_is_named(ws):
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import mini_llm\n"
    done = subprocess.run(
        [sys.executable, "-c", code + SETUP], cwd=ROOT, env={"MINI_LLM_WORKSPACE": str(ws)},
        capture_output=True, text=True,
    )  # fmt: skip
    assert "Another mini_llm is loaded already" in done.stdout and "restart this kernel" in done.stdout


def test_torch_is_described_without_importing_it(monkeypatch, tmp_path):
    code = "from kit.session import torch_line; print(torch_line()); import sys; print('torch' in sys.modules)"
    path = f"{ROOT / 'course'}:{ROOT / 'practice'}"
    done = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": path}, capture_output=True, text=True)
    line, imported = done.stdout.splitlines()
    assert line[0].isdigit() and ("tape" in line or "CUDA" in line) and imported == "False"
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").touch()
    (tmp_path / "torch" / "version.py").write_text("__version__ = '9.9'\ncuda = '13.0'\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setattr(session, "_gpu", lambda: "NVIDIA X")
    assert session.torch_line() == "9.9 with CUDA 13.0 on NVIDIA X"
    monkeypatch.setattr(session, "_gpu", lambda: None)
    assert session.torch_line().startswith("9.9 on the CPU; graphs are played by the tape")
