"""A class for the tests of nbgrader: a throwaway copy of the course, notebooks handed in, nbgrader's own commands."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from nbgrader.api import Gradebook

from grader.problems import ROOT

CHAPTER = "03_bucket_sizes"
COPIED = ("course/kit", "course/source", "course/nbgrader_config.py", "practice", "mini_llm", "judge.py")
NOT_COPIED = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints")


class Classroom:
    """The course in `folder`, with a gradebook of its own."""

    def __init__(self, folder: Path):
        self.folder, self.course = folder, folder / "course"

    def move_in(self) -> Classroom:
        for name in COPIED:
            target = self.folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, target, ignore=NOT_COPIED)
            else:
                shutil.copyfile(ROOT / name, target)
        return self

    def nbgrader(self, *words: str, cwd: Path | None = None, check: bool = True) -> subprocess.CompletedProcess:
        """`nbgrader WORDS` in the course's folder, the way an instructor types it: nothing set up beforehand."""
        command = [str(Path(sys.executable).with_name("nbgrader")), *words]
        ran = subprocess.run(command, cwd=cwd or self.course, env=self.environment(), capture_output=True, text=True,
                             timeout=600)  # fmt: skip
        assert not check or ran.returncode == 0, ran.stderr
        return ran

    def environment(self) -> dict[str, str]:
        """Without what `make` and an activated environment would set."""
        env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "MINI_LLM_", "JUPYTER"))}
        ours = str(Path(sys.executable).parent)
        return env | {"PATH": os.pathsep.join(p for p in env["PATH"].split(os.pathsep) if p != ours)}

    @property
    def released(self) -> dict:
        """The notebook that students get, a fresh copy each time."""
        return json.loads((self.course / "release" / CHAPTER / f"{CHAPTER}.ipynb").read_text(encoding="utf-8"))

    def hand_in(self, student: str, notebook: dict | bytes) -> None:
        path = self.course / "submitted" / student / CHAPTER / f"{CHAPTER}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(notebook if isinstance(notebook, bytes) else json.dumps(notebook).encode())

    def gradebook(self) -> Gradebook:
        return Gradebook(f"sqlite:///{self.course}/gradebook.db")

    def grades(self, student: str) -> dict[str, tuple[float | None, float, bool]]:
        """{cell: (points, of how many, whether a person has to grade it)}."""
        with self.gradebook() as gradebook:
            found = gradebook.find_submission_notebook(CHAPTER, CHAPTER, student).grades
            return {g.name: (g.auto_score, g.max_score, bool(g.needs_manual_grade)) for g in found}

    def graded(self, student: str) -> dict:
        """The notebook that autograde wrote."""
        path = self.course / "autograded" / student / CHAPTER / f"{CHAPTER}.ipynb"
        return json.loads(path.read_text(encoding="utf-8"))

    def report(self, student: str, part: str) -> str:
        """What stands under a part's test cell."""
        cell = next(
            c for c in self.graded(student)["cells"] if id_of(c).endswith(part) and id_of(c).startswith("judge")
        )
        return "".join("".join(o["text"]) for o in cell["outputs"] if o["output_type"] == "stream")

    def feedback(self, student: str) -> str:
        return (self.course / "feedback" / student / CHAPTER / f"{CHAPTER}.html").read_text(encoding="utf-8")


def id_of(cell: dict) -> str:
    return cell["metadata"].get("nbgrader", {}).get("grade_id", "")


def cell_of(notebook: dict, grade_id: str) -> dict:
    return next(c for c in notebook["cells"] if id_of(c) == grade_id)


def answer(notebook: dict, part: str, body: str) -> dict:
    """Puts `body` in place of the line that an answer cell asks to replace, or a whole cell if it has a def."""
    cell = next(c for c in notebook["cells"] if id_of(c).startswith("answer-") and id_of(c).endswith(f"-{part}"))
    old = "".join(cell["source"])
    header = old.split("\n")[0]
    cell["source"] = f"{header}\n{body}" if re.search(r"^def ", body, re.M) else old.rsplit("\n", 1)[0] + "\n" + body
    return notebook


def solutions() -> dict[str, str]:
    """The reference's answer of each part, as a student would have written it into the answer cell."""
    notebook = json.loads((ROOT / "course" / "source" / CHAPTER / f"{CHAPTER}.ipynb").read_text(encoding="utf-8"))
    found = {}
    for cell in notebook["cells"]:
        if id_of(cell).startswith("answer-"):
            lines = "".join(cell["source"]).split("\n")
            found[id_of(cell).split("-")[2]] = "\n".join(line for line in lines[1:] if "### " not in line)
    return found
