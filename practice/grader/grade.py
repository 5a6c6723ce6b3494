"""The instructors' commands. `judge.py grade DIR`: a class's files judged, many at once, with one seed; every
judgement is on the disk when it ends, so a run that was stopped goes on where it was. `judge.py release`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from grader import batch, problems
from grader.classroom import Classroom, NoClass, Submission, name_of, read_class
from grader.gradebook import MISSING, NOT_JUDGED, OWN, Gradebook, NoResults, number, total, worth
from grader.problems import Problem
from grader.report import printable
from grader.terminal import console
from grader.usage import ACCEPTED, JUDGE_FAILED, NOT_ACCEPTED, STOPPED, Parser, UsageError, whole_number

ALL_JUDGED, SOME_NOT = ACCEPTED, NOT_ACCEPTED
SHOWN_REMARKS, SHOWN_ALIKE = 20, 8


def command(argv: list[str], prog: str) -> int:
    """Grades a class. 0: all judged; 1: some not; 2: wrong usage; 3: no strong sandbox; 130: stopped."""
    parser = Parser(
        prog,
        "grade",
        "For instructors: judges all files of a class in DIR, many at once, with one seed (course/INSTRUCTORS.md).",
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="where the files are")
    parser.add_argument("--problems", metavar="A,B", help="only these; otherwise all that anything was handed in for")
    parser.add_argument("--seed", type=whole_number, metavar="S", help="the same inputs again")
    parser.add_argument("--jobs", type=whole_number, metavar="N", help="so many at once, instead of one for each core")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("results"),
        metavar="DIR",
        help="where the results go (results/); a run that was stopped goes on there",
    )
    again = parser.add_mutually_exclusive_group()
    again.add_argument("--resume", action="store_true", help="go on with a run that was stopped, as happens anyway")
    again.add_argument("--again", action="store_true", help="judge anew what was judged before")
    parser.add_argument("--scheduler", metavar="URL", help="on the workers of a Dask cluster")
    parser.takes_json()
    args = parser.parse_args(argv)
    if args.jobs is not None and args.jobs < 1:
        raise UsageError("--jobs takes a number from 1")
    if args.jobs is not None and args.scheduler:
        raise UsageError("--jobs is for this machine alone; with --scheduler the cluster's workers decide")
    if args.seed is not None and args.seed < 0:
        raise UsageError("--seed takes a number from 0")
    out = console(stderr=args.json)
    try:
        return _Grading(args, out).run()
    except (NoClass, NoResults, batch.NoCluster) as e:
        raise UsageError(str(e)) from None


class _Grading:
    def __init__(self, args, console: Console):
        self.args, self.console = args, console
        self.failed: dict[tuple[str, int], str] = {}
        self.judged = self.kept = 0

    def run(self) -> int:
        from filelock import FileLock, Timeout

        args = self.args
        room = read_class(args.folder)
        for student in OWN:
            room.leave_out(student, "the results have a file of that name")
        chosen = self._chosen(room)
        out, class_folder = args.out.resolve(), args.folder.resolve()
        if out.is_relative_to(class_folder) or class_folder.is_relative_to(out):
            raise UsageError(f"the results must lie outside of {args.folder}; name another folder with --out")
        if not args.scheduler:
            batch.strong_layers()
        book = Gradebook(args.out, args.seed)
        try:
            with FileLock(args.out / ".lock", timeout=0):
                return self._grade(book, room, chosen)
        except Timeout:
            raise UsageError(f"another run writes to {args.out} just now; wait for it, or name another --out") from None

    def _chosen(self, room: Classroom) -> list[Problem]:
        if self.args.problems:
            named = [problems.get(word.strip()) for word in self.args.problems.split(",")]
            return list({problem.id: problem for problem in named}.values())
        if not room.answered:
            self._say_remarks(room.remarks)
            raise UsageError(f"{self.args.folder} holds no file that answers a problem")
        return [problems.get(number) for number in room.answered]

    def _grade(self, book: Gradebook, room: Classroom, chosen: list[Problem]) -> int:
        self._say_understood(room, chosen)
        todo: list[Submission] = []
        for given in room.students.values():
            for problem in chosen:
                submission = given.get(problem.id)
                if submission is None:
                    continue
                if not self.args.again and book.kept(submission):
                    self.kept += 1
                elif submission.source is None:
                    book.refuse(submission, "The file is larger than 1 MiB; that is no solution to judge.")
                else:
                    todo.append(submission)
        self._say(f"seed {book.seed}; {len(todo)} to judge, {self.kept} judged before")
        try:
            self._judge(book, todo)
        except KeyboardInterrupt:
            return self._stopped(len(todo))
        grades = book.grades(room, chosen, self.failed)
        summary = book.publish(room, grades)
        not_judged = sum(g.status == NOT_JUDGED for row in grades.values() for g in row.values())
        self._print_table(grades, chosen)
        self._say_endings(book, room, grades, summary)
        if self.args.json:
            print(json.dumps(summary))
        return SOME_NOT if not_judged else ALL_JUDGED

    def _judge(self, book: Gradebook, todo: list[Submission]) -> None:
        tasks = [batch.task(s.problem, s.source, s.shown, book.seed, s.package) for s in todo]
        if not tasks:
            return
        with _Progress(self.console, len(todo)) as progress:

            def done(place: int, outcome: dict) -> None:
                submission = todo[place]
                if "judgement" in outcome:
                    book.keep(submission, outcome["judgement"])
                    self.judged += 1
                    said = outcome["judgement"]["verdict"]
                else:
                    book.drop(submission)
                    self.failed[submission.student, submission.problem.id] = " ".join(outcome["why"].split())
                    said = NOT_JUDGED
                progress.step(f"{name_of(submission.student)} {submission.problem.id}: {said}")

            if self.args.scheduler:
                batch.run_on_cluster(self.args.scheduler, tasks, done)
            else:
                jobs = self.args.jobs or batch.default_jobs([s.problem for s in todo])
                batch.run_here(tasks, min(jobs, len(tasks)), done)

    def _stopped(self, wanted: int) -> int:
        message = f"stopped; {self.judged} of {wanted} judged and kept in {self.args.out}; the same command goes on."
        print(f"\n{message}", file=sys.stderr)
        if self.args.json:
            print(json.dumps({"error": message, "exit": STOPPED}))
        return STOPPED

    # -- what a person reads ------------------------------------------------------------------------------------

    def _say(self, text: str, style: str = "") -> None:
        self.console.print(Text(text, style), soft_wrap=True)

    def _say_remarks(self, remarks: list[str]) -> None:
        for remark in remarks[:SHOWN_REMARKS]:
            self._say(remark, "yellow")
        if len(remarks) > SHOWN_REMARKS:
            self._say(f"... and {len(remarks) - SHOWN_REMARKS} more like these; grades.json has all.", "yellow")

    def _say_understood(self, room: Classroom, chosen: list[Problem]) -> None:
        """One line for each student: which file is taken for which problem."""
        wanted = {p.id for p in chosen}
        for student, given in room.students.items():
            files: dict[str, list[str]] = {}
            for submission in given.values():
                if submission.problem.id in wanted:
                    files.setdefault(submission.shown, []).append(str(submission.problem.id))
            said = [f"{', '.join(ids)} from {shown}" for shown, ids in files.items()]
            said += [f"{n} unclear" for name, n in room.unclear if name == student and n in wanted]
            self._say(f"{name_of(student)}: {'; '.join(said) or MISSING}")
        self._say_remarks(room.remarks)

    def _print_table(self, grades: dict, chosen: list[Problem]) -> None:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        table.add_column("student", overflow="fold")
        for problem in chosen:
            table.add_column(f"{problem.id}\nof {worth(problem):g}", justify="right", no_wrap=True)
        table.add_column(f"points\nof {sum(map(worth, chosen)):g}", justify="right", no_wrap=True)
        for student, row in grades.items():
            cells = [_cell(grade) for grade in row.values()]
            table.add_row(Text(name_of(student)), *cells, Text(number(total(row)) or "?", "bold"))
        self.console.print()
        needs = self.console.measure(table)
        if not self.console.is_terminal or needs.minimum > self.console.width:  # no cell is cut off
            self.console.width = max(self.console.width, needs.maximum)
        self.console.print(table)
        self.console.print()

    def _say_endings(self, book: Gradebook, room: Classroom, grades: dict, summary: dict) -> None:
        for student, row in grades.items():
            for grade in row.values():
                if grade.status == NOT_JUDGED:
                    why = printable(grade.why, 300)
                    self._say(f"not judged: {name_of(student)}, {grade.problem.id}: {why}", "red")
        for group in summary["duplicates"]:
            files = [name_of(one["file"]) for one in group[:SHOWN_ALIKE]]
            more = f" and {len(group) - SHOWN_ALIKE} more" if len(group) > SHOWN_ALIKE else ""
            self._say(f"the same file from different students: {', '.join(files)}{more}", "yellow")
        if strangers := book.strangers(room):
            names = ", ".join(map(name_of, strangers))
            self._say(f"results of an earlier run, not in {self.args.folder} and not in the grades: {names}", "yellow")
        self._say(f"{book.folder}/grades.csv, grades.json, and feedback.md in each student's folder")


def _cell(grade) -> Text:
    if grade.status == NOT_JUDGED:
        return Text("not judged", "red")
    if grade.status == MISSING:
        return Text("–", "dim")
    return Text(number(grade.points), "green" if grade.points == worth(grade.problem) else "")


class _Progress:
    """A bar on a terminal; a line for each judgement elsewhere."""

    def __init__(self, console: Console, count: int):
        self.console, self.count, self.done = console, count, 0
        self.bar = self.row = None

    def __enter__(self) -> _Progress:
        if self.console.is_terminal:
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
            self.bar = Progress(*columns, console=self.console, transient=True)
            self.bar.start()
            self.row = self.bar.add_task("", total=self.count)
        return self

    def step(self, said: str) -> None:
        self.done += 1
        if self.bar:
            from rich.markup import escape

            self.bar.update(self.row, advance=1, description=escape(said))
        else:
            self.console.print(Text(f"[{self.done}/{self.count}] {said}"), soft_wrap=True)

    def __exit__(self, *_: object) -> None:
        if self.bar:
            self.bar.stop()


# -- release ----------------------------------------------------------------------------------------------------


def release(argv: list[str], prog: str) -> int:
    """What students get, made by nbgrader: `make release` by another name."""
    about = "For instructors: what students get, made by nbgrader; `make release` does the same."
    parser = Parser(prog, "release", about)
    parser.add_argument("out", nargs="?", type=Path, metavar="OUT", help="the folder to put it in")
    args = parser.parse_args(argv)
    sys.path.insert(0, str(problems.ROOT / "course"))
    try:
        from kit import release as made
    except ModuleNotFoundError as e:
        print(f"judge: release needs the package {e.name}; `make env` brings it.", file=sys.stderr)
        return JUDGE_FAILED
    return ACCEPTED if made.main(out=args.out) == 0 else JUDGE_FAILED
