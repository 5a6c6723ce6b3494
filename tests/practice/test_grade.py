"""`judge.py grade` and `judge.py release`: what an instructor relies on."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from judging import JUDGE, run, solution

from grader import batch, cli, gradebook, problems
from grader.classroom import NoClass, name_of, read_class
from grader.gradebook import Gradebook

PAD_TO = "def pad_to(bs, sizes):\n    return next((s for s in sizes if s >= bs), None)\n"
WRONG = PAD_TO.replace(">=", ">")
SECRET = "import os  # not for the class\n"


def write(folder: Path, files: dict[str, str | bytes]) -> Path:
    for name, text in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def state(folder: Path) -> dict[str, str]:
    """Of every file below a folder: its bytes and when they were written."""
    return {
        str(p.relative_to(folder)): f"{hashlib.sha256(p.read_bytes()).hexdigest()} {p.stat().st_mtime_ns}"
        for p in sorted(folder.rglob("*"))
        if p.is_file()
    }


def rows(out: Path) -> dict[str, dict[str, str]]:
    text = (out / "grades.csv").read_text(encoding="utf-8")
    return {row["student"]: row for row in csv.DictReader(io.StringIO(text))}


# -- one class, graded once -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """(the class's folder, its results, what was printed, its state before)."""
    folder = tmp_path_factory.mktemp("class")
    write(
        folder / "class",
        {
            "ada/133.py": solution(),
            "ada/133.py~": "backup",
            "ada/lab.ipynb": "{}",
            "ada/notes/draft.py": "x = 1",
            "Bo Li 李/work/mini_llm/buckets.py": solution(),
            "Bo Li 李/work/judge.py": "launcher",
            "=1+1/capture_sizes.py": "def pad_to(:\n",
            "Zoë_133.py": "ME = 'Zoë'\n".encode("latin-1") + PAD_TO.encode(),
            "kim-133_capture_sizes.py": WRONG,
            "loop/133.py": "while True: pass\n",
            "__MACOSX/ada/133.py": "x",
        },
    )
    (folder / "class" / "empty").mkdir()
    (folder / "secret.py").write_text(SECRET)
    (folder / "class" / "linker").mkdir()
    (folder / "class" / "linker" / "133.py").symlink_to(folder / "secret.py")
    before = state(folder / "class")
    ran = run("grade", folder / "class", "--problems", "133", "--out", folder / "results", "--seed", 5)
    return folder / "class", folder / "results", ran, before


def test_all_are_judged_whatever_they_hand_in(graded):
    folder, out, ran, before = graded
    assert ran.returncode == 0, ran.stderr
    points = {student: row["points"] for student, row in rows(out).items()}
    assert 0 <= float(points.pop("kim")) < 2  # how many of its four tests notice depends on the draw
    assert points == {
        "ada": "10", "Bo Li 李": "10", "'=1+1": "0", "Zoë": "0", "loop": "0", "empty": "0", "linker": "0",
    }  # fmt: skip
    verdicts = {p.parent.name: json.loads(p.read_text())["verdict"] for p in out.glob("*/133.json")}
    assert verdicts == {
        "ada": "accepted", "Bo Li 李": "accepted", "=1+1": "import error", "Zoë": "import error",
        "kim": "wrong answer", "loop": "timeout",
    }  # fmt: skip
    assert state(folder) == before


def test_what_was_understood_is_said_and_what_was_not(graded):
    said = graded[2].stdout
    for line in (
        "ada: 133 from 133.py",
        "Bo Li 李: 133 from work/mini_llm/buckets.py",
        "kim: 133 from kim-133_capture_sizes.py",
        "empty: nothing handed in",
        "ada/notes/draft.py is left out",
        "symbolic links, which are never followed: linker/133.py",
        "graded with nbgrader (course/INSTRUCTORS.md): ada/lab.ipynb",
        "the same file from different students: Bo Li 李/work/mini_llm/buckets.py, ada/133.py",
    ):
        assert line in said
    assert "__MACOSX" not in said and "judge.py is left" not in said


def test_grades_json_has_all_of_it(graded):
    grades = json.loads((graded[1] / "grades.json").read_text())
    kim = next(s for s in grades["students"] if s["student"] == "kim")
    assert grades["seed"] == 5 and kim["points"] < 2 and kim["of"] == 10
    assert kim["points"] == sum(kim["problems"]["133"]["parts"].values())
    assert kim["problems"]["133"]["verdict"] == "wrong answer" and kim["problems"]["133"]["diagnosis"]
    assert [[one["student"] for one in group] for group in grades["duplicates"]] == [["Bo Li 李", "ada"]]


def test_feedback_says_what_failed_and_shows_no_test(graded):
    feedback = (graded[1] / "kim" / "feedback.md").read_text(encoding="utf-8")
    points = rows(graded[1])["kim"]["points"]
    assert feedback.startswith(f"# kim: {points} of 10 points\n") and f"| `pad_to` | {points} of 2 |" in feedback
    for piece in ("**wrong answer**", "Likely mistake: ", "input", "expected", "got", "--seed 5"):
        assert piece in feedback
    for path in graded[1].glob("*/feedback.md"):
        text = path.read_text(encoding="utf-8")
        assert "def test_" not in text and "oracle" not in text and "check.each" not in text
    assert "Nothing was handed in" in (graded[1] / "linker" / "feedback.md").read_text()


def test_nobody_reads_through_a_link(graded):
    assert SECRET.strip() not in "".join(p.read_text(errors="replace") for p in graded[1].rglob("*") if p.is_file())


def test_only_a_changed_file_is_judged_again(graded, tmp_path):
    folder, out = shutil.copytree(graded[0], tmp_path / "class", symlinks=True), tmp_path / "results"
    shutil.copytree(graded[1], out)
    before = {k: v for k, v in state(out).items() if k.endswith("133.json")}
    write(folder, {"kim-133_capture_sizes.py": PAD_TO})
    ran = run("grade", folder, "--problems", "133", "--out", out, "--resume")
    assert ran.returncode == 0 and "1 to judge, 5 judged before" in ran.stdout, ran.stderr
    now = {k: v for k, v in state(out).items() if k.endswith("133.json")}
    assert {name for name in now if now[name] != before[name]} == {"kim/133.json"}
    assert rows(out)["kim"]["points"] == "2"


# -- seeds ------------------------------------------------------------------------------------------------------


def test_a_regrade_gives_the_same_tests_and_the_same_points(tmp_path, capsys):
    folder, out = write(tmp_path / "class", {"kim/133.py": WRONG}), tmp_path / "results"

    def calls():
        record = json.loads((out / "kim" / "133.json").read_text())
        return [test["call"] for test in record["tests"]]

    first = run("grade", folder, "--out", out, "--json")
    grades, inputs, written = json.loads(first.stdout.splitlines()[-1]), calls(), state(out)["kim/133.json"]
    again = run("grade", folder, "--out", out, "--json", "--again")
    assert json.loads(again.stdout.splitlines()[-1]) == grades
    assert calls() == inputs and any(inputs) and state(out)["kim/133.json"] != written
    assert cli.main(["grade", str(folder), "--out", str(out), "--seed", str(grades["seed"] + 1)]) == 2
    assert f"was graded with seed {grades['seed']}" in capsys.readouterr().err


# -- stopped ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_stopped_it_leaves_nothing_behind_and_goes_on(how, tmp_path, temporary):
    folder, out = write(tmp_path / "class", {"a_133.py": PAD_TO, "b_133.py": "while True: pass\n"}), tmp_path / "out"
    command = [sys.executable, str(JUDGE), "grade", str(folder), "--out", str(out), "--jobs", "1"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    grading = subprocess.Popen(command, start_new_session=True, **pipes)
    until = time.monotonic() + 300
    while not (out / "a" / "133.json").exists() or not list(temporary.glob("mini-llm-grade-*/mini-llm-judge-*")):
        assert grading.poll() is None and time.monotonic() < until
        time.sleep(0.02)
    if how == signal.SIGINT:  # Ctrl-C reaches every process of the terminal
        os.killpg(grading.pid, how)
    else:
        grading.send_signal(how)
    _, said = grading.communicate(timeout=200)
    if how != signal.SIGKILL:
        assert grading.returncode == 130 and "1 of 2 judged" in said and "Traceback" not in said
    while (left := processes_of(temporary)) or any(temporary.iterdir()):
        assert time.monotonic() < until, (left, list(temporary.iterdir()))
        time.sleep(0.02)
    first = state(out)["a/133.json"]
    write(folder, {"b_133.py": PAD_TO})
    ran = run("grade", folder, "--out", out)
    assert ran.returncode == 0 and "1 to judge, 1 judged before" in ran.stdout
    assert state(out)["a/133.json"] == first and {r["points"] for r in rows(out).values()} == {"2"}


def processes_of(temporary: Path) -> list[str]:
    """Processes that name the folder, in their command or their environment."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            about = (place / "cmdline").read_bytes() + (place / "environ").read_bytes()
        except OSError:
            continue
        if str(temporary).encode() in about and int(place.name) != os.getpid():
            found.append(place.name)
    return found


# -- a judge that fails -----------------------------------------------------------------------------------------


def test_a_failure_of_the_judge_is_no_grade_and_is_tried_again(tmp_path, monkeypatch, capsys):
    folder = write(tmp_path / "class", {"ada_133.py": PAD_TO, "bob_133.py": PAD_TO + "\n"})
    out = tmp_path / "results"

    def fails_on_bob(tasks, jobs, done):
        for place, task in enumerate(tasks):
            done(place, {"why": "JudgeError: no disk"} if task["shown"] == "bob_133.py" else batch.judge_one(task))

    with monkeypatch.context() as patch:
        patch.setattr(batch, "run_here", fails_on_bob)
        assert cli.main(["grade", str(folder), "--out", str(out)]) == 1
    assert "not judged: bob, 133: JudgeError: no disk" in capsys.readouterr().out
    assert rows(out)["bob"]["points"] == "" and rows(out)["bob"]["133"] == "" and rows(out)["ada"]["points"] == "2"
    assert "no disk" in (out / "bob" / "feedback.md").read_text() and not (out / "bob" / "133.json").exists()
    assert run("grade", folder, "--out", out).returncode == 0
    assert rows(out)["bob"]["points"] == "2"


def test_a_file_that_cannot_be_judged_now_loses_its_old_verdict(tmp_path):
    folder = write(tmp_path / "class", {"ada_133.py": PAD_TO})
    book = Gradebook(tmp_path / "results", 1)
    given = read_class(folder).students["ada"][133]
    task = batch.task(given.problem, given.source, given.shown, 1, given.package)
    book.keep(given, batch.judge_one(task)["judgement"])
    assert book.kept(given) and not book.kept(replace(given, source=b"other"))
    assert not Gradebook(tmp_path / "results", None).kept(replace(given, package=True))
    book.drop(given)
    assert not book.kept(given)


def serve_or_die(pipe, parent, temporary):
    """In place of a process that judges: a task shown as 'die' ends it, 'hang' hangs it."""
    while True:
        try:
            task = pipe.recv()
        except EOFError:
            return
        if task["shown"] == "die":
            os._exit(7)
        if task["shown"] == "hang":
            time.sleep(600)
        pipe.send({"judgement": task["shown"]})


def test_a_process_that_dies_or_hangs_costs_its_own_task_only(monkeypatch):
    monkeypatch.setattr(batch, "_serve", serve_or_die)
    monkeypatch.setattr(batch, "patience", lambda problem: 3.0)
    heard = {}
    tasks = [{"problem": 133, "shown": word} for word in ("one", "die", "two", "hang", "three", "four")]
    batch.run_here(tasks, 2, heard.__setitem__)
    said = [heard[i].get("judgement") or heard[i]["why"] for i in range(6)]
    assert said[:3] == ["one", "the judge's process ended with status 7", "two"]
    assert "no verdict" in said[3] and said[4:] == ["three", "four"]


def test_a_class_needs_a_strong_layer(tmp_path, monkeypatch, capsys):
    class OnlyProcess:
        sandbox = ["process"]

        def __init__(self, problem, *_):
            assert not problem.torch  # seconds to import, for every process of a class that needs none

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

    monkeypatch.setattr(batch, "Session", OnlyProcess)
    batch.strong_layers.cache_clear()
    folder = write(tmp_path / "class", {"ada_133.py": PAD_TO})
    assert cli.main(["grade", str(folder), "--out", str(tmp_path / "results")]) == 3
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1 and "inside bubblewrap or Landlock only" in said and "doctor" in said
    assert not (tmp_path / "results").exists()
    assert "bubblewrap or Landlock" in batch.judge_one(batch.task(problems.get(133), b"", "x", 1, False))["why"]
    monkeypatch.undo()
    batch.strong_layers.cache_clear()


@pytest.mark.parametrize("cards", [["0"], ["0", "1"]])
def test_a_gpu_is_one_submissions_at_a_time(cards, monkeypatch, tmp_path):
    monkeypatch.setattr(batch, "gpus", lambda: cards)
    monkeypatch.setattr(batch, "LOCKS", tmp_path)
    problem = replace(problems.get(133), needs=("torch",))
    busy, most, clashes = [], [], []

    def judge():
        with batch.gpu_turn(problem) as card:
            clashes.extend(c for c in busy if c == card)
            busy.append(card)
            most.append(len(busy))
            time.sleep(0.05)
            busy.remove(card)

    threads = [threading.Thread(target=judge) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not clashes and len(most) == 6 and max(most) <= len(cards)
    with batch.gpu_turn(problems.get(133)) as card:
        assert card is None


# -- how a folder is read ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "files, taken",
    [
        ({"ada/133.py": "a"}, {("ada", 133): ("133.py", False)}),
        ({"ada/hw/3/133_capture_sizes.py": "a"}, {("ada", 133): ("hw/3/133_capture_sizes.py", False)}),
        ({"ada/Default_Ladder.PY": "a"}, {("ada", 134): ("Default_Ladder.PY", False)}),
        ({"ada/buckets.py": "a"}, {("ada", 133): ("buckets.py", True), ("ada", 134): ("buckets.py", True)}),
        ({"ada_l-134.py": "a"}, {("ada_l", 134): ("ada_l-134.py", False)}),
        ({"ada lee 133_capture_sizes.py": "a"}, {("ada lee", 133): ("ada lee 133_capture_sizes.py", False)}),
        ({"ada/Ada_133.py": "a"}, {("ada", 133): ("Ada_133.py", False)}),
        ({"ada/test_133.py": "a"}, {}),
        ({"133.py": "a", "133_capture_sizes.py": "b", "_134.py": "c"}, {}),
        ({"ada/.hidden/133.py": "a", "ada/__pycache__/133.py": "a", "ada/backup-1/133.py": "b"}, {}),
        ({"ada/mini_llm/config.py": "a", "ada/mini_llm/134.py": "b"}, {}),
        ({"ada/133.py": "a", "ada/old_stuff/133.py": "b", "ada/buckets.py": "c"},
         {("ada", 133): ("133.py", False), ("ada", 134): ("buckets.py", True)}),
        ({"ada/v1/133.py": "a", "ada/v2/133.py": "a"}, {("ada", 133): ("v1/133.py", False)}),
    ],
)  # fmt: skip
def test_the_layouts_that_are_understood(files, taken, tmp_path):
    room = read_class(write(tmp_path / "class", files))
    found = {(s, n): (g.shown, g.package) for s, given in room.students.items() for n, g in given.items()}
    assert {k: v for k, v in found.items() if k[1] in (133, 134)} == taken


def test_of_two_files_that_differ_none_is_chosen(tmp_path):
    folder = write(tmp_path / "class", {"ada/v1/133.py": PAD_TO, "ada/v2/133.py": WRONG})
    out = tmp_path / "results"
    ran = run("grade", folder, "--out", out)
    assert ran.returncode == 1 and "v1/133.py, v2/133.py differ" in ran.stdout
    assert rows(out)["ada"]["points"] == ""


def test_a_pipe_a_huge_file_and_an_accent_written_another_way(tmp_path):
    files = {"Zoe\u0308/134.py": "a", "Zo\u00eb_133.py": "b", "big_133.py": b"#" * (2 << 20)}
    folder = write(tmp_path / "class", files)
    (folder / "piper").mkdir()
    os.mkfifo(folder / "piper" / "133.py")
    room = read_class(folder)
    assert set(room.students) == {"Zo\u00eb", "big", "piper"} and set(room.students["Zo\u00eb"]) == {133, 134}
    assert room.students["big"][133].source is None and not room.students["piper"]
    book = Gradebook(tmp_path / "results", 1)
    book.refuse(room.students["big"][133], "The file is larger than 1 MiB.")
    record = book.kept(room.students["big"][133])
    assert (record["verdict"], record["passed"], record["total"]) == ("import error", 0, 16)
    grades = book.grades(room, [problems.get(133)], {})
    assert "larger than 1 MiB" in gradebook.feedback("big", grades["big"])


def test_a_workspace_is_no_class(tmp_path):
    with pytest.raises(NoClass, match="one student's workspace"):
        read_class(write(tmp_path / "ws", {"mini_llm/buckets.py": "a"}))


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (("{class}/../nowhere",), "there is no folder"),
        (("{class}", "--out", "{class}/results"), "the results must lie outside of"),
        (("{class}", "--out", "{class}/.."), "the results must lie outside of"),
        (("{class}", "--out", "{class}/../mine"), "holds something else than a class's results"),
        (("{class}", "--jobs", "0"), "--jobs takes a number from 1"),
        (("{class}", "--problems", "133,999"), "there is no problem 999"),
        (("{class}", "--jobs", "2", "--scheduler", "tcp://localhost:1"), "the cluster's workers decide"),
        (("{class}/../mine",), "holds no file that answers a problem"),
    ],
)
def test_wrong_usage_is_one_sentence(arguments, sentence, tmp_path, capsys):
    folder = write(tmp_path, {"class/ada_133.py": PAD_TO, "mine/thesis.txt": "precious"}) / "class"
    words = [word.replace("{class}", str(folder)) for word in arguments]
    words += [] if "--out" in words else ["--out", str(tmp_path / "results")]
    assert cli.main(["grade", *words]) == 2
    assert sentence in capsys.readouterr().err
    assert sorted(os.listdir(folder)) == ["ada_133.py"] and sorted(os.listdir(tmp_path / "mine")) == ["thesis.txt"]


@pytest.mark.parametrize("name", ["=1+1", "+cmd", "-2", "@sum", " =1", "＝1"])
def test_no_name_is_a_formula(name, tmp_path):
    cell = gradebook._cell(name_of(name))
    assert cell == f"'{name}"


def test_names_are_printed_harmlessly():
    assert name_of("a\x1b[2Jb\u202ec\nd\udcff") == "a\\x1b[2Jb\\x202ec\\nd\\xdcff"
    assert name_of("نام\u200cها 李") == "نام\u200cها 李"


# -- a cluster --------------------------------------------------------------------------------------------------


def test_without_dask_one_sentence_names_the_extra(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "distributed", None)
    folder = write(tmp_path / "class", {"ada_133.py": PAD_TO})
    assert cli.main(["grade", str(folder), "--out", str(tmp_path / "r"), "--scheduler", "tcp://localhost:1"]) == 2
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1 and "optional extra `cluster`" in said


def test_a_cluster_judges_alike(tmp_path):
    distributed = pytest.importorskip("distributed", reason="Dask distributed (the extra `cluster`) is not installed")
    folder = write(tmp_path / "class", {"ada_133.py": solution(), "kim_133.py": WRONG})
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        ran = run("grade", folder, "--out", tmp_path / "r", "--scheduler", cluster.scheduler_address)
    assert ran.returncode == 0, ran.stderr
    points = {name: float(row["points"]) for name, row in rows(tmp_path / "r").items()}
    assert points["ada"] == 10 and points["kim"] < 2


# -- release ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", [None, "handed out"])
def test_release_is_nbgraders(where, tmp_path, monkeypatch, capsys):
    ran = []
    well = subprocess.CompletedProcess([], 0)
    monkeypatch.setattr(subprocess, "run", lambda command, **_: ran.append(command) or well)
    monkeypatch.chdir(tmp_path)
    assert cli.main(["release", *([where] if where else [])]) == 0
    chapters = [p.name for p in sorted((problems.ROOT / "course" / "source").iterdir())]
    assert [command[4] for command in ran] == chapters and all("generate_assignment" in c for c in ran)
    wanted = [f"--CourseDirectory.release_directory={tmp_path / where}"] if where else []
    assert all(command[6:] == wanted for command in ran)
    assert f"released {where or 'course/release'}/{chapters[0]}/" in capsys.readouterr().out


def test_a_name_that_the_results_need_costs_nobody_else_a_grade(tmp_path):
    folder = write(tmp_path / "class", {"class.json_133.py": PAD_TO, "kim_133.py": PAD_TO})
    ran = run("grade", folder, "--out", tmp_path / "out")
    assert ran.returncode == 0 and "class.json is left out" in ran.stdout
    assert list(rows(tmp_path / "out")) == ["kim"]
