"""The workspace: made once, kept up to date, and never a word of the learner's lost."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from grader import problems, workspace
from grader.workspace import ensure_package

ROOT = Path(__file__).resolve().parents[2]
BASE = '"""Sizes."""\n\nimport math\n\nTOP = 8\n\n\ndef base(n):\n    return math.floor(n)\n\n\n'
GROWN = {"sizes.py": {"pad": (900, 3)}}


@pytest.fixture
def reference(tmp_path, monkeypatch):
    """A small reference package whose growing parts a test may change: call it with the new source."""
    folder = tmp_path / "reference"
    folder.mkdir()
    growing = dict(GROWN)
    monkeypatch.setattr(workspace, "growing", lambda: growing)

    def put(source, names=("pad",), **others):
        growing["sizes.py"] = {name: (900, 3) for name in names}
        (folder / "sizes.py").write_text(source)
        for name, text in others.items():
            (folder / f"{name}.py").write_text(text)
        return folder

    put(BASE + "def pad(n):\n    return n + _secret\n\n\n_secret = 4\n", plain="A = 1\n")
    put.folder = folder
    return put


@pytest.fixture
def ws(tmp_path):
    return tmp_path / "ws"


def test_made_once_with_stubs_and_one_line(reference, ws):
    said = ensure_package(ws, reference.folder)
    assert len(said) == 1 and "your own copy of the package" in said[0]
    text = (ws / "mini_llm/sizes.py").read_text()
    assert text.startswith(BASE) and "grown in chapter 3: pad" in text and "secret" not in text
    assert ensure_package(ws, reference.folder) == []


def test_an_untouched_module_follows_the_reference(reference, ws):
    ensure_package(ws, reference.folder)
    reference(BASE.replace("TOP = 8", "TOP = 16") + "def pad(n):\n    return n\n", plain="A = 2\n")
    said = ensure_package(ws, reference.folder)
    assert len(said) == 2 and "TOP = 16" in (ws / "mini_llm/sizes.py").read_text()
    assert (ws / "mini_llm/plain.py").read_text() == "A = 2\n"


def test_what_the_learner_wrote_stays_and_new_stubs_join(reference, ws):
    ensure_package(ws, reference.folder)
    mine = ws / "mini_llm/sizes.py"
    solved = mine.read_text().replace(
        'raise NotImplementedError("grown in chapter 3: pad")', "return 7  # mine"
    )
    mine.write_text(solved + "\n\ndef my_own():\n    return 1\n")
    reference(
        "import re\n" + BASE.replace("TOP = 8", "TOP = 16")
        + "def pad(n):\n    return n\n\n\ndef waste(n: 're.Pattern'):\n    '''New.'''\n    return 3\n",
        names=("pad", "waste"),
    )  # fmt: skip
    said = ensure_package(ws, reference.folder)
    text = mine.read_text()
    assert "return 7  # mine" in text and "def my_own" in text
    assert "TOP = 16" in text and "import re\n" in text
    assert "grown in chapter 3: waste" in text and "return 3" not in text
    assert len(said) == 1 and "as it was" in said[0]
    assert not (ws / "mini_llm/sizes.py.new").exists()
    assert ensure_package(ws, reference.folder) == []


def test_a_piece_changed_on_both_sides_goes_beside(reference, ws):
    ensure_package(ws, reference.folder)
    mine = ws / "mini_llm/sizes.py"
    text = mine.read_text().replace("TOP = 8", "TOP = 9")
    mine.write_text(text)
    reference(BASE.replace("TOP = 8", "TOP = 16") + "def pad(n):\n    return n\n")
    said = ensure_package(ws, reference.folder)
    assert mine.read_text() == text
    assert "TOP = 16" in (ws / "mini_llm/sizes.py.new").read_text()
    assert len(said) == 1 and "sizes.py.new" in said[0]


def test_a_changed_base_module_and_a_broken_file_are_left_alone(reference, ws):
    ensure_package(ws, reference.folder)
    plain, sizes = ws / "mini_llm/plain.py", ws / "mini_llm/sizes.py"
    plain.write_text("A = 'mine'\n")
    sizes.write_text("def pad(:\n")
    reference(BASE + "def pad(n):\n    return 1\n\n\ndef more():\n    pass\n", plain="A = 3\n")
    said = ensure_package(ws, reference.folder)
    assert plain.read_text() == "A = 'mine'\n" and sizes.read_text() == "def pad(:\n"
    assert (ws / "mini_llm/plain.py.new").read_text() == "A = 3\n"
    assert len(said) == 2


def test_a_deleted_file_comes_back_and_a_removed_module_goes(reference, ws):
    ensure_package(ws, reference.folder)
    (ws / "mini_llm/sizes.py").unlink()
    (reference.folder / "plain.py").unlink()
    ensure_package(ws, reference.folder)
    assert (ws / "mini_llm/sizes.py").exists() and not (ws / "mini_llm/plain.py").exists()


def test_a_lost_manifest_counts_everything_as_touched(reference, ws):
    ensure_package(ws, reference.folder)
    mine = ws / "mini_llm/sizes.py"
    mine.write_text(mine.read_text().replace("raise NotImplementedError", "return 5 #"))
    before = mine.read_text()
    shutil.rmtree(ws / ".course")
    ensure_package(ws, reference.folder)
    assert mine.read_text() == before


def test_the_real_package_never_imports_torch_and_is_quick(tmp_path):
    code = (
        "import sys, time; from grader import workspace as w; from pathlib import Path\n"
        "print(w.ensure_package()); t = time.process_time(); again = w.ensure_package()\n"
        "assert again == [] and 'torch' not in sys.modules; print(time.process_time() - t)\n"
        "sys.path.insert(0, str(w.path())); import mini_llm.buckets as b; assert 'torch' not in sys.modules\n"
        "try: b.pad_to(1, [1])\n"
        "except NotImplementedError as e: print(e)\n"
    )
    env = {"PYTHONPATH": str(ROOT / "practice"), "MINI_LLM_WORKSPACE": str(tmp_path / "elsewhere")}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    made, seconds, stub = done.stdout.splitlines()
    assert "your own copy of the package" in made and stub == "grown in chapter 3: pad_to"
    assert float(seconds) < 1


def test_the_readme_speaks_to_the_learner(reference, ws):
    (reference.folder / "README.md").write_text("This is the reference.\n")
    ensure_package(ws, reference.folder)
    text = (ws / "mini_llm/README.md").read_text()
    assert "your own copy" in text and "| `sizes.py` | `pad` | 3 |" in text and "reference" not in text


def test_the_judge_starts_in_the_workspace_wherever_it_is(ws, tmp_path):
    ensure_package(ws)
    for cwd, file in ((ws, "judge.py"), (tmp_path, ws / "judge.py"), (ROOT, "judge.py")):
        done = subprocess.run([sys.executable, file, "list"], cwd=cwd, capture_output=True, text=True, env={})
        assert done.returncode == 0 and "133" in done.stdout, done.stderr
    # it judges the workspace it lies in
    done = subprocess.run([sys.executable, "judge.py", "start", "133"], cwd=ws, capture_output=True, text=True, env={})
    assert str(ws / "mini_llm" / "buckets.py") in done.stdout.replace("\n", "")
    (ws / "judge.py").write_text(workspace.LAUNCHER.format(root="/nowhere"))
    done = subprocess.run([sys.executable, "judge.py", "list"], cwd=ws, capture_output=True, text=True, env={})
    assert done.returncode == 1 and done.stderr.startswith("judge: the course has moved; run `make learn`")
    ensure_package(ws)
    assert str(ROOT) in (ws / "judge.py").read_text()
    (ws / "judge.py").write_text("mine = 1\n")
    ensure_package(ws)
    assert (ws / "judge.py").read_text() == "mine = 1\n"


def test_learner_file_is_the_module_the_problem_grows(monkeypatch, tmp_path):
    monkeypatch.setenv("MINI_LLM_WORKSPACE", str(tmp_path))
    assert workspace.learner_file(problems.get(133)) == tmp_path / "mini_llm" / "buckets.py"


def test_a_write_that_fails_leaves_the_old_file(tmp_path):
    place = tmp_path / "a.txt"
    workspace.write(place, b"old")
    with pytest.raises(TypeError):
        workspace.write(place, "text")
    assert place.read_bytes() == b"old" and [p.name for p in tmp_path.iterdir()] == ["a.txt"]
    link = tmp_path / "link.txt"
    link.symlink_to(place)
    workspace.write(link, b"new")
    assert link.is_symlink() and place.read_bytes() == b"new"


def test_two_at_once_do_not_harm_each_other(tmp_path):
    code = "from grader import workspace as w; w.ensure_package()"
    env = {"PYTHONPATH": str(ROOT / "practice"), "MINI_LLM_WORKSPACE": str(tmp_path / "ws")}
    both = [subprocess.Popen([sys.executable, "-c", code], env=env) for _ in range(3)]
    assert [p.wait(timeout=120) for p in both] == [0, 0, 0]
    assert "grown in chapter 3: pad_to" in (tmp_path / "ws/mini_llm/buckets.py").read_text()
