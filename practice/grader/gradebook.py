"""A class's results folder: the seed, a record of each judgement, and what is read in the end.

    class.json               the seed that all were judged with
    STUDENT/133.json         the judgement, as `--json` gives it, and which file it is about
    STUDENT/feedback.md      what the student reads
    grades.csv, grades.json  what the instructor reads

A record stands as long as the file and the problem's tests are what they were; otherwise it counts as none.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from grader import batch
from grader.classroom import Classroom, Submission, name_of
from grader.problems import Problem
from grader.report import print_judgement, printable
from grader.runner import Judgement, Result, new_seed
from grader.workspace import write

ABOUT = "class.json"
OWN = (ABOUT, "grades.csv", "grades.json", ".lock")  # no student's folder can have one of these names
MISSING, JUDGED, NOT_JUDGED = "nothing handed in", "judged", "not judged"
FORMULA = tuple("=+-@\t\r＝＋－＠")  # with these a spreadsheet takes a text for a formula


class NoResults(Exception):
    """The folder cannot hold these results; the message is one clear sentence."""


@dataclass(frozen=True)
class Grade:
    """What one student has for one problem. `points` is None while it is not judged."""

    problem: Problem
    status: str
    points: float | None
    record: dict | None = None
    why: str = ""  # of 'not judged'


class Gradebook:
    """The results of one class, in a folder."""

    def __init__(self, folder: Path, seed: int | None):
        """Opens or begins it. Raises NoResults when it is something else, or was graded with another seed."""
        self.folder = folder
        about = folder / ABOUT
        try:
            if about.exists():
                self.seed = _seed_in(about)
                if seed not in (None, self.seed):
                    raise NoResults(
                        f"{folder} was graded with seed {self.seed}, and one class has one seed: leave --seed out "
                        "to go on with it, or name another folder with --out"
                    )
                return
            if folder.exists() and any(p.name != ".lock" for p in folder.iterdir()):
                raise NoResults(f"{folder} holds something else than a class's results; name another folder with --out")
            self.seed = new_seed() if seed is None else seed
            write(about, json.dumps({"seed": self.seed}).encode() + b"\n")
        except OSError as e:
            raise NoResults(f"{folder} cannot be used for the results: {e.strerror}") from None

    # -- records ------------------------------------------------------------------------------------------------

    def _place(self, submission: Submission) -> Path:
        return self.folder / submission.student / f"{submission.problem.id}.json"

    def kept(self, submission: Submission) -> dict | None:
        """The record of exactly this file, by the tests as they are now; None when it has to be judged."""
        try:
            record = json.loads(self._place(submission).read_text(encoding="utf-8"))
            fits = record["seed"] == self.seed and record["submission"] == self._about(submission)
            return record if fits and record["total"] == submission.problem.hidden_tests else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def keep(self, submission: Submission, judgement: dict) -> None:
        record = {"student": submission.student, **judgement, "submission": self._about(submission)}
        write(self._place(submission), json.dumps(record, indent=1).encode())

    def drop(self, submission: Submission) -> None:
        """Takes back what was known of a file that could not be judged now."""
        self._place(submission).unlink(missing_ok=True)

    def _about(self, submission: Submission) -> dict:
        return {
            "file": submission.path,
            "sha256": hashlib.sha256(submission.source or b"").hexdigest(),
            "package": submission.package,
            "tests": batch.mark(submission.problem.id),
        }

    def refuse(self, submission: Submission, why: str) -> None:
        """Keeps a judgement of 0 points for a file that is not even given to the judge."""
        problem = submission.problem
        none = {part: {"passed": 0, "total": p.tests, "score": 0.0} for part, p in problem.parts.items()}
        judgement = Judgement(
            problem,
            shown=submission.shown,
            seed=self.seed,
            examples=False,
            sandbox=[],
            verdict="import error",
            notes=[why],
        )
        self.keep(submission, judgement.as_json() | {"total": problem.hidden_tests, "parts": none})

    def strangers(self, room: Classroom) -> list[str]:
        """Students with results here who are not in the class's folder."""
        return sorted(p.name for p in self.folder.iterdir() if p.is_dir() and p.name not in room.students)

    # -- grades -------------------------------------------------------------------------------------------------

    def grades(self, room: Classroom, chosen: list[Problem], failed: dict[tuple[str, int], str]) -> dict:
        """{student: {problem's number: Grade}}. `failed` says why the judge failed where it did."""
        found: dict[str, dict[int, Grade]] = {}
        for student, given in room.students.items():
            found[student] = {}
            for problem in chosen:
                key = student, problem.id
                if why := room.unclear.get(key) or failed.get(key):
                    grade = Grade(problem, NOT_JUDGED, None, why=why)
                elif problem.id not in given:
                    grade = Grade(problem, MISSING, 0.0)
                elif record := self.kept(given[problem.id]):
                    grade = Grade(problem, JUDGED, sum(points(problem, record).values()), record)
                else:
                    grade = Grade(problem, NOT_JUDGED, None, why="it is not judged yet")
                found[student][problem.id] = grade
        return found

    def publish(self, room: Classroom, grades: dict[str, dict[int, Grade]]) -> dict:
        """Writes grades.csv, grades.json and every student's feedback; what grades.json holds."""
        summary = {
            "seed": self.seed,
            "problems": {str(g.problem.id): worth(g.problem) for g in next(iter(grades.values()), {}).values()},
            "students": [_as_json(student, by_problem) for student, by_problem in grades.items()],
            "duplicates": duplicates(room, grades),
            "remarks": room.remarks,
        }
        for student, by_problem in grades.items():
            text = feedback(student, by_problem)
            write(self.folder / student / "feedback.md", text.encode("utf-8", "backslashreplace"))
        write(self.folder / "grades.csv", _as_csv(grades).encode("utf-8", "backslashreplace"))
        write(self.folder / "grades.json", json.dumps(summary, indent=1).encode())
        return summary


def _seed_in(about: Path) -> int:
    try:
        seed = json.loads(about.read_text(encoding="utf-8"))["seed"]
        if type(seed) is int and seed >= 0:
            return seed
    except (ValueError, KeyError, TypeError):
        pass
    raise NoResults(f'{about} holds no seed; write {{"seed": N}} into it, with the N that the feedback names')


def worth(problem: Problem) -> float:
    return sum(part.points for part in problem.parts.values())


def points(problem: Problem, record: dict) -> dict[str, float]:
    """Each part's points times the share of its tests that passed."""
    return {
        name: part.points * min(record["parts"].get(name, {}).get("passed", 0), part.tests) / part.tests
        for name, part in problem.parts.items()
    }


def total(by_problem: dict[int, Grade]) -> float | None:
    """A student's points; None while something of theirs is not judged, because a part of a sum misleads."""
    found = [grade.points for grade in by_problem.values()]
    return None if None in found else sum(found)


def number(points: float | None) -> str:
    return "" if points is None else f"{round(points, 3):g}"


def duplicates(room: Classroom, grades: dict[str, dict[int, Grade]]) -> list[list[dict]]:
    """Files of the same bytes from different students, where anything is written in them."""
    groups: dict[bytes, dict[tuple[str, str], None]] = {}
    for student, given in room.students.items():
        for submission in given.values():
            grade = grades.get(student, {}).get(submission.problem.id)
            written = grade and grade.record and not all(t["stub"] for t in grade.record["tests"])
            if written and submission.source:
                groups.setdefault(submission.source, {})[student, submission.path] = None
    return [
        [{"student": student, "file": path} for student, path in files]
        for files in groups.values()
        if len({student for student, _ in files}) > 1
    ]


def _as_json(student: str, by_problem: dict[int, Grade]) -> dict:
    rows = {}
    for grade in by_problem.values():
        row = {"status": grade.status, "points": grade.points, "of": worth(grade.problem)}
        if grade.record:
            row |= {k: grade.record[k] for k in ("verdict", "passed", "total", "diagnosis")}
            row |= {"parts": points(grade.problem, grade.record), "file": grade.record["submission"]["file"]}
        if grade.why:
            row["why"] = grade.why
        rows[str(grade.problem.id)] = row
    of = sum(worth(grade.problem) for grade in by_problem.values())
    return {"student": student, "points": total(by_problem), "of": of, "problems": rows}


def _as_csv(grades: dict[str, dict[int, Grade]]) -> str:
    out = io.StringIO()
    sheet = csv.writer(out, lineterminator="\n")
    numbers = [str(number) for number in next(iter(grades.values()), {})]
    sheet.writerow(["student", *numbers, "points", "of", "remarks"])
    for student, by_problem in grades.items():
        row = [_cell(name_of(student)), *(number(g.points) for g in by_problem.values()), number(total(by_problem))]
        of = sum(worth(g.problem) for g in by_problem.values())
        remarks = [f"{g.problem.id} {g.status}" for g in by_problem.values() if g.status != JUDGED]
        sheet.writerow([*row, f"{of:g}", "; ".join(remarks)])
    return out.getvalue()


def _cell(text: str) -> str:
    """A text that stays one in a spreadsheet."""
    return f"'{text}" if text.lstrip().startswith(FORMULA) else text


# -- feedback ---------------------------------------------------------------------------------------------------


def feedback(student: str, by_problem: dict[int, Grade]) -> str:
    """What a student reads, in Markdown: points, verdicts, diagnoses, and the judge's report of each problem."""
    of = sum(worth(grade.problem) for grade in by_problem.values())
    sum_ = total(by_problem)
    head = f"{number(sum_)} of {of:g} points" if sum_ is not None else "not all judged yet"
    lines = [f"# {_markdown(name_of(student))}: {head}", ""]
    for grade in by_problem.values():
        lines += [*_about_problem(grade), ""]
    return "\n".join(lines)


def _about_problem(grade: Grade) -> list[str]:
    problem, record = grade.problem, grade.record
    head = f"## {problem.id} {problem.title}"
    if grade.status == NOT_JUDGED:
        said = [f"Not judged yet: {_markdown(printable(grade.why, 500))}.", "No points are given or taken for this."]
        return [f"{head}: not judged yet", "", *said]
    if record is None:
        return [f"{head}: 0 of {worth(problem):g} points", "", "Nothing was handed in."]
    earned = points(problem, record)
    lines = [f"{head}: {number(sum(earned.values()))} of {worth(problem):g} points", ""]
    lines += [f"Verdict: **{record['verdict']}**, {record['passed']} of {record['total']} tests passed.", ""]
    lines += ["| part | points | tests passed |", "| --- | --- | --- |"]
    for name, part in problem.parts.items():
        row = record["parts"].get(name, {"passed": 0})
        lines.append(f"| `{name}` | {number(earned[name])} of {part.points:g} | {row['passed']} of {part.tests} |")
    if record["diagnosis"]:
        lines += ["", f"Likely mistake: {_markdown(printable(record['diagnosis'], 500))}"]
    if record["verdict"] != "accepted":
        lines += ["", *(f"    {line}".rstrip() for line in _report(problem, record))]
    return lines


def _report(problem: Problem, record: dict) -> list[str]:
    """What the judge prints of this judgement in a terminal, with the command that repeats the tests."""
    if not record["tests"]:
        return record["notes"]
    known = Result.__dataclass_fields__
    tests = [Result(**{k: v for k, v in test.items() if k in known}) for test in record["tests"]]
    judgement = Judgement(
        problem,
        shown=record["file"],
        seed=record["seed"],
        examples=False,
        sandbox=record["sandbox"],
        verdict=record["verdict"],
        seconds=record["seconds"],
        tests=tests,
        notes=record["notes"],
    )
    console = Console(file=io.StringIO(), width=100, color_system=None, highlight=False, emoji=False, markup=False)
    own = "" if record["submission"]["package"] else f" {shlex.quote(record['file'])}"
    print_judgement(console, judgement, f"python judge.py {problem.id}{own}", "python judge.py")
    return console.file.getvalue().rstrip().split("\n")


def _markdown(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>()#+!|&~])", r"\\\1", text)
