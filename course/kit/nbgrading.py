"""What nbgrader runs in place of its own steps, set in `nbgrader_config.py`: a class graded without a kernel.

`nbgrader autograde` reads a submission with SubmissionExporter, mends it (Mend), and where it would run the
student's notebook, the judge judges the answer cells (JudgeAnswers). Scores then go nbgrader's way: a test
cell's output holds a number. A test cell without a number waits for a person (SaveGrades).
"""

from __future__ import annotations

from pathlib import Path

from nbconvert.exporters import HTMLExporter, NotebookExporter
from nbformat import NotebookNode
from nbformat.v4 import new_output
from nbgrader.api import Gradebook
from nbgrader.converters.base import NbGraderException
from nbgrader.preprocessors import NbGraderPreprocessor, SaveAutoGrades
from nbgrader.utils import is_grade, is_solution
from traitlets import Float

from grader import problems
from grader.cells import GRADE_ID
from grader.growth import read_cell
from grader.problems import growing
from kit import grading
from kit.outcome import Outcome
from kit.submission import MARK, NEW_CELL, read


class SubmissionExporter(NotebookExporter):
    """Reads any submitted file as a notebook (`submission.read`).

    nbgrader makes one of these before it looks at the first submission. So it is also where grading is
    refused, once and in one sentence, and where the class's seed is read.
    """

    def __init__(self, config=None, **kwargs):
        super().__init__(config=config, **kwargs)
        try:
            grading.require_strong_layer()
            self.seed = grading.class_seed(Path(self.parent.coursedir.root))
        except grading.Refused as e:
            self.parent.log.error(str(e))
            raise NbGraderException(str(e)) from None

    def from_file(self, file_stream, resources=None, **kwargs):
        return self.from_notebook_node(read(file_stream.buffer.read()), resources=resources, **kwargs)


class Mend(NbGraderPreprocessor):
    """Gives a submission the graded cells of the release, each once, with the metadata they were released with.

    Of several cells with one id, the last one that holds an answer is kept. Missing cells are put back where
    they were. (nbgrader's own step for that, OverwriteCells.add_missing_cells, fails when the cell before is
    missing too; damaged metadata stops its whole batch.)
    """

    def preprocess(self, nb, resources):
        released = _released(resources["nbgrader"])
        found: dict[str, list[NotebookNode]] = {}
        for cell in nb.cells:
            cell.metadata.pop(MARK, None)
            about = cell.metadata.pop("nbgrader", None)
            grade_id = about.get("grade_id") if isinstance(about, dict) else None
            if isinstance(grade_id, str) and grade_id in released:
                found.setdefault(grade_id, []).append(cell)
        for grade_id, copies in found.items():
            kept = next((c for c in reversed(copies) if _holds_answer(c, released[grade_id])), copies[-1])
            kept.metadata["nbgrader"] = released[grade_id].metadata.nbgrader
            if kept.cell_type != released[grade_id].cell_type:
                fresh = NEW_CELL[released[grade_id].cell_type](kept.source, id=kept.id, metadata=kept.metadata)
                kept.clear()
                kept.update(fresh)
            if len(copies) > 1:
                self.log.warning("Cell %s is there %d times; one of them counts.", grade_id, len(copies))
                kept.metadata[MARK] = {"copies": len(copies)}
        self._put_back(nb, found, released)
        return nb, resources

    def _put_back(self, nb: NotebookNode, found: dict, released: dict[str, NotebookNode]) -> None:
        """Each missing cell after the graded cell that came before it in the release."""
        unreadable = nb.metadata.get(MARK, {}).get("unreadable", "")
        if unreadable:
            self.log.warning("%s It scores 0.", unreadable)
        places = [i for i, c in enumerate(nb.cells) if "nbgrader" in c.metadata]
        at = places[0] if places else len(nb.cells)
        for grade_id, cell in released.items():
            if grade_id in found:
                at = 1 + next(i for i, c in enumerate(nb.cells) if _id(c) == grade_id)
                continue
            self.log.warning("Cell %s is missing; it is put back.", grade_id)
            cell.metadata[MARK] = {"missing": True, "unreadable": unreadable}
            nb.cells.insert(at, cell)
            at += 1


def _released(about: dict) -> dict[str, NotebookNode]:
    """The graded and locked cells of a notebook as the gradebook knows them, in order: {grade_id: cell}."""
    with Gradebook(about["db_url"]) as gradebook:
        notebook = gradebook.find_notebook(about["notebook"], about["assignment"])
        points = {c.name: c.max_score for c in (*notebook.grade_cells, *notebook.task_cells)}
        kinds = {"grade": notebook.grade_cells, "solution": notebook.solution_cells, "task": notebook.task_cells}
        names = {kind: {c.name for c in cells} for kind, cells in kinds.items()}
        released = {}
        for c in notebook.source_cells:
            known = {kind: c.name in found for kind, found in names.items()}
            known |= {"grade_id": c.name, "locked": c.locked, "cell_type": c.cell_type, "schema_version": 3}
            known |= {"checksum": c.checksum} if c.checksum else {}
            known |= {"points": points[c.name]} if c.name in points else {}
            released[c.name] = NEW_CELL[c.cell_type](c.source, metadata=NotebookNode(nbgrader=NotebookNode(known)))
        return released


def _id(cell: NotebookNode) -> str:
    return cell.metadata.get("nbgrader", {}).get("grade_id", "")


def _holds_answer(cell: NotebookNode, released: NotebookNode) -> bool:
    """Whether an answer cell defines its function; of another cell, whether it has other words than the release."""
    match = GRADE_ID.fullmatch(_id(released))
    problem = problems.load_all().get(int(match[1])) if match else None
    if problem is None:
        return cell.source != released.source
    try:
        return match[2] in read_cell(cell.source).names(growing()[problem.module])
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


class JudgeAnswers(NbGraderPreprocessor):
    """In place of nbgrader's Execute: the judge judges the answer cells; each test cell gets report and score."""

    seconds = Float(600, help="How long the judge may take for one problem; then a person looks.").tag(config=True)

    def preprocess(self, nb, resources):
        seed = self.parent.seed
        marks = {_id(c): c.metadata.get(MARK, {}) for c in nb.cells if _id(c)}
        trouble = "it gave no report"
        asked = {about[0] for about in map(grading.part_of, marks) if about}
        try:
            outcomes = grading.judge_notebook(nb, asked, seed, self.seconds)
        except Exception as e:  # a fault of ours costs nobody points, and stops no batch
            self.log.exception("The judge could not be asked.")
            outcomes, trouble = {}, f"{type(e).__name__}: {e}"
        for cell in nb.cells:
            if cell.cell_type != "code":
                continue
            cell.outputs, cell.execution_count = [], None
            if not _is_test(cell):
                continue
            about = grading.part_of(_id(cell))
            if about is None:
                text, points = "Not judged: this test cell belongs to no problem, and nothing is run here.", None
            else:
                problem, part = problems.get(about[0]), about[1]
                outcome = outcomes.get(about) or Outcome(problem, part, seed, trouble=trouble)
                if marks.get(f"answer-{problem.id}-{part}", {}).get("missing"):
                    outcome = outcome.but(left_out="")  # what was put back is the stub; the notes say so better
                outcome = outcome.but(notes=_notes(marks, problem.id, part))
                worth = float(cell.metadata.nbgrader.points)
                text, points = outcome.report(worth), outcome.points(worth)
            cell.outputs.append(new_output("stream", name="stdout", text=text + "\n"))
            if points is None:
                student = resources["nbgrader"]["student"]
                self.log.warning("%s of %s was not judged; grade it by hand: %s", _id(cell), student, text)
            else:
                cell.outputs.append(new_output("execute_result", {"text/plain": repr(points)}))
        return nb, resources


def _is_test(cell: NotebookNode) -> bool:
    """Whether nbgrader would read a cell's score from its outputs."""
    return cell.cell_type == "code" and is_grade(cell) and not is_solution(cell)


def _notes(marks: dict[str, dict], problem: int, part: str) -> tuple[str, ...]:
    """What happened to the cells of a part, one sentence each."""
    test, answer = marks.get(f"judge-{problem}-{part}", {}), marks.get(f"answer-{problem}-{part}", {})
    if test.get("unreadable"):
        return (test["unreadable"],)
    said = []
    if answer.get("missing"):
        said.append("The answer cell was missing from the notebook.")
    if answer.get("copies"):
        said.append(f"The answer cell is there {answer['copies']} times; the last one that defines {part} counts.")
    if test.get("missing"):
        said.append("This test cell was missing from the notebook, and was put back.")
    return tuple(said)


class FeedbackExporter(HTMLExporter):
    """nbgrader's feedback page in a template of ours; nbgrader_config.py names it."""


class SaveGrades(SaveAutoGrades):
    """As nbgrader's, but a test cell without a score is not worth full marks: it waits for a person."""

    def _add_score(self, cell, resources):
        if not _is_test(cell) or any(o.output_type == "execute_result" for o in cell.outputs):
            return super()._add_score(cell, resources)
        grade = self.gradebook.find_grade(_id(cell), self.notebook_id, self.assignment_id, self.student_id)
        grade.auto_score, grade.needs_manual_grade = None, True
        self.gradebook.db.commit()
