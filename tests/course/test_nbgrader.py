"""The way of a class through nbgrader's own commands: release, hand in, autograde, feedback, export."""

from __future__ import annotations

import csv
import html
import json
import re
import shutil
import subprocess
import sys
import time

import pytest
from classroom import CHAPTER, Classroom, cell_of, id_of
from handed_in import EARNED, PARTS, WORTH, WRITTEN, hand_in_all
from nbgrader.plugins import CsvExportPlugin

from grader import layers
from grader.problems import ROOT
from kit import grading
from kit.submission import MARK, read

no_strong_layer = layers.bubblewrap_reason() and layers.landlock_reason()
pytestmark = pytest.mark.skipif(bool(no_strong_layer), reason=f"no class is graded here: {no_strong_layer}")


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """The class after one autograde and one generate_feedback over all of it."""
    room = Classroom(tmp_path_factory.mktemp("class")).move_in()
    about = room.folder / "practice" / "problems" / "133_capture_sizes" / "problem.md"
    # an endless loop costs three calls; the class is not here to test how long a call may take
    text = about.read_text(encoding="utf-8").replace("import_s: 3, call_s: 5", "import_s: 2, call_s: 2")
    about.write_text(text, encoding="utf-8")
    room.nbgrader("generate_assignment", CHAPTER, "--course-dir=course", cwd=room.folder)
    hand_in_all(room)
    room.log = room.nbgrader("autograde", CHAPTER).stderr
    room.nbgrader("generate_feedback", CHAPTER)
    return room


@pytest.fixture
def copied(graded, tmp_path):
    """The graded class, to be changed."""
    shutil.copytree(graded.folder, tmp_path / "again")
    return Classroom(tmp_path / "again")


def points(room, student) -> tuple:
    grades = room.grades(student)
    judged = {name.split("-", 2)[2]: grade for name, grade in grades.items() if name.startswith("judge-")}
    assert not any(by_hand for _, _, by_hand in judged.values())
    return tuple(judged[part][0] for part in PARTS)


@pytest.mark.parametrize("student", EARNED)
def test_each_gets_the_points_that_were_earned(graded, student):
    assert points(graded, student) == pytest.approx(EARNED[student])


@pytest.mark.parametrize("student", EARNED)
def test_every_student_gets_feedback_with_the_reports(graded, student):
    page = graded.feedback(student)
    for part in PARTS:
        lines = [line.strip() for line in graded.report(student, part).splitlines()]
        assert lines[0].startswith(f"{part}: ") and f"of {WORTH[part]} points" in lines[0]
        assert lines[0] in page
    assert f"{sum(EARNED[student]):g} of 18 points" in page
    assert "<script>alert" not in page and "\x1b" not in page


def test_no_hidden_test_is_shown(graded):
    files = [p for name in ("test_hidden.py", "oracle.py") for p in (ROOT / "practice" / "problems").glob(f"*/{name}")]
    lines = {line.strip() for p in files for line in p.read_text(encoding="utf-8").splitlines() if '"""' not in line}
    lines = {line for line in lines if len(line) > 30}
    assert len(lines) > 20
    for student in EARNED:
        page, notebook = graded.feedback(student), graded.graded(student)
        theirs = "\n".join("".join(cell["source"]) for cell in notebook["cells"])
        assert not [line for line in lines if line in html.unescape(page) and line not in theirs]
        reports = "".join(graded.report(student, part) for part in PARTS)
        assert not [line for line in lines if line in reports]
        assert not re.search(r"\btest_(pad_to|expected_waste|best_sizes|default_capture_sizes)_", page)


@pytest.mark.parametrize(
    "student, part, words",
    [
        ("blank", "pad_to", "it still holds the stub"),
        ("partial", "expected_waste", "steps above the largest size are left out of the mean"),
        ("endless", "best_sizes", "did not finish in 2 s"),
        ("endless-import", "best_sizes", "did not finish in 2 s"),
        ("endless-import", "pad_to", "answer-133-best_sizes fails at import"),
        ("kills", "expected_waste", "SIGKILL"),
        ("twice", "pad_to", "The answer cell is there 2 times; the last one that defines pad_to counts."),
        ("deleted", "pad_to", "This test cell was missing from the notebook, and was put back."),
        ("deleted", "best_sizes", "The answer cell was missing from the notebook."),
        ("twice", "default_capture_sizes", "line 3 is no valid Python"),
        ("no-json", "best_sizes", "The notebook could not be read: it is no valid JSON"),
        ("no-cells", "pad_to", "The notebook could not be read: it holds no cells."),
    ],
)
def test_a_report_says_why(graded, student, part, words):
    assert words in graded.report(student, part)


def test_one_seed_for_the_class_in_every_report(graded):
    seed = json.loads((graded.course / "grading_seed.json").read_text())["seed"]
    reports = [graded.report(student, part) for student in EARNED for part in PARTS]
    assert all(re.findall(r"Seed (\d+)\.", report) == [str(seed)] for report in reports)
    assert f"python judge.py 133 --part pad_to --seed {seed}" in graded.report("full", "pad_to")


def test_written_answers_wait_for_a_person_unless_there_is_none(graded):
    assert graded.grades("full")[WRITTEN] == (None, 4, True)
    for student in ("blank", "deleted", "no-json"):
        assert graded.grades(student)[WRITTEN] == (0, 4, False)


def test_locked_cells_are_the_releases_and_no_output_of_a_student_is_left(graded):
    for student in EARNED:
        notebook = graded.graded(student)
        ids = [id_of(c) for c in notebook["cells"] if id_of(c)]
        assert sorted(ids) == sorted(id_of(c) for c in graded.released["cells"] if id_of(c))
        assert cell_of(notebook, "judge-133-pad_to")["source"] == ['kit.judge(133, "pad_to")']
        outputs = [o for c in notebook["cells"] if not id_of(c).startswith("judge-") for o in c.get("outputs", [])]
        assert outputs == []
    assert "Advise them" in "".join(cell_of(graded.graded("edited"), "prompt-3-ladder_for_a_server")["source"])


def test_the_batch_says_what_it_mended(graded):
    assert "Cell judge-133-pad_to is missing; it is put back." in graded.log
    assert "it holds no cells" in graded.log and "Traceback" not in graded.log


def test_export_has_the_points_of_all(graded, tmp_path):
    with graded.gradebook() as gradebook:
        CsvExportPlugin(to=str(tmp_path / "grades.csv")).export(gradebook)
    with open(tmp_path / "grades.csv") as file:
        rows = {row["student_id"]: row for row in csv.DictReader(file)}
    assert {s: float(r["score"]) for s, r in rows.items()} == pytest.approx({s: sum(e) for s, e in EARNED.items()})
    assert {float(r["max_score"]) for r in rows.values()} == {18}


def test_when_the_judge_fails_a_person_decides_and_graded_again_the_points_are_the_same(copied):
    again = ("autograde", CHAPTER, "--force", "--student=pa*")
    students = ("partial", "patches")
    before = {s: ([copied.report(s, p) for p in PARTS], points(copied, s)) for s in students}
    hidden = copied.folder / "practice" / "problems" / "133_capture_sizes" / "test_hidden.py"
    kept = hidden.read_text(encoding="utf-8")

    hidden.write_text("import nothing_like_this\n", encoding="utf-8")
    log = copied.nbgrader(*again).stderr
    grades = copied.grades("partial")
    assert grades["judge-133-pad_to"] == (None, 2, True) and grades["judge-134-default_capture_sizes"] == (0, 4, False)
    report = copied.report("partial", "pad_to")
    assert "not judged yet" in report and "nothing_like_this" in report and "grades this part by hand" in report
    assert "judge-133-pad_to of partial was not judged" in log

    hidden.write_text(kept, encoding="utf-8")
    copied.nbgrader("generate_assignment", CHAPTER, "--force")
    copied.nbgrader(*again)
    assert {s: ([copied.report(s, p) for p in PARTS], points(copied, s)) for s in students} == before


def test_without_a_strong_layer_a_class_is_refused_in_one_sentence(copied):
    (copied.folder / "practice" / "grader" / "layers.py").open("a").write(
        "\nstyles = lambda asked: [Style(('process',), 'none')]\n"
    )
    shutil.rmtree(copied.course / "autograded")
    ran = copied.nbgrader("autograde", CHAPTER, check=False)
    errors = [line for line in ran.stderr.splitlines() if "ERROR" in line]
    assert ran.returncode == 1 and not (copied.course / "autograded").exists()
    assert len(errors) == 1 and "only process limits work here" in errors[0] and "judge.py doctor" in errors[0]


def test_parallel_processes_agree_on_the_seed(tmp_path):
    program = "import sys, pathlib; from kit import grading; print(grading.class_seed(pathlib.Path(sys.argv[1])))"
    env = {"PYTHONPATH": f"{ROOT / 'course'}:{ROOT / 'practice'}"}
    started = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], env=env, stdout=subprocess.PIPE, text=True)
        for _ in range(6)
    ]
    said = {process.communicate()[0] for process in started}
    assert len(said) == 1 and said == {f"{grading.class_seed(tmp_path)}\n"}
    assert [p.name for p in tmp_path.iterdir()] == [grading.SEED_FILE]


def test_a_damaged_seed_is_not_drawn_again(tmp_path):
    (tmp_path / grading.SEED_FILE).write_text("{")
    with pytest.raises(grading.Refused, match="holds no seed"):
        grading.class_seed(tmp_path)


HEAVY = {
    "longer than 16 KiB": "'" + "a" * (16 << 10) + "'",
    "imports more than 100 names": "import " + ", ".join(f"a{i}" for i in range(2000)),
    "nested too deeply": "if 1:\n    x = 1\n" + "elif 1:\n    x = 1\n" * 700,
    "null bytes": "'\0'",
}


@pytest.mark.parametrize("why", HEAVY)
def test_a_cell_that_is_no_answer_costs_its_own_part_and_no_time(why, monkeypatch):
    def cell(part, source):
        about = {"grade_id": f"answer-133-{part}"}
        return {"cell_type": "code", "metadata": {"nbgrader": about}, "source": f"%%grow mini_llm/buckets.py\n{source}"}

    judged = []
    monkeypatch.setattr(grading, "ask", lambda problem, source, *_: judged.append(source) or made_up(problem))
    cells = [cell("pad_to", f"{HEAVY[why]}\n{GOOD}"), cell("expected_waste", GOOD.replace("pad_to", "expected_waste"))]
    started = time.process_time()
    outcomes = grading.judge_notebook({"cells": cells}, {133}, seed=1)
    assert time.process_time() - started < 10  # of this process: a busy machine does not count
    assert why in outcomes[133, "pad_to"].left_out and not outcomes[133, "expected_waste"].left_out
    assert len(judged) == 1 and "return None" in judged[0] and "grown in chapter 3: pad_to" in judged[0]


GOOD = "def pad_to(bs, sizes):\n    return None\n"


def made_up(problem) -> dict:
    """A report in which every test passed."""
    tests = [{"part": name, "outcome": "passed"} for name, part in problem.parts.items() for _ in range(part.tests)]
    parts = {name: {"passed": part.tests, "total": part.tests} for name, part in problem.parts.items()}
    return {"tests": tests, "parts": parts, "sandbox": ["process", "bubblewrap"]}


@pytest.mark.parametrize("data", [b"", b"[" * 100_000, b"\x00", b"null", b'{"cells": {}}', b'{"worksheets": []}'])
def test_no_damage_stops_the_reading(data):
    notebook = read(data)
    assert notebook.metadata[MARK]["unreadable"] in notebook.cells[0].source


def test_a_notebook_in_another_encoding_is_read():
    text = '{"cells": [{"cell_type": "markdown", "source": "café"}]}'
    for encoding in ("utf-8-sig", "utf-16", "latin-1"):
        assert read(text.encode(encoding)).cells[0].source == "café"
