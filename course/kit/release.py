"""The student's version of a source notebook, by nbgrader's own preprocessors.

`release()` makes a learner's notebook in this process, without a gradebook; `python -m kit.release`
(`make release`) has nbgrader make what an instructor hands out, in course/release/.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from nbformat import NotebookNode

from grader.problems import ROOT

CODE_STUB = 'raise NotImplementedError("replace this line with your code")'
TEXT_STUB = "*Write your answer here, in place of this line.*"


def config():
    """What both ways of releasing share; nbgrader_config.py merges it into its own."""
    from traitlets.config import Config

    shared = Config()
    shared.ClearSolutions.code_stub = {"python": CODE_STUB}
    shared.ClearSolutions.text_stub = TEXT_STUB
    return shared


def release(notebook: NotebookNode) -> NotebookNode:
    """`notebook` with the solutions cleared and cells locked, as `nbgrader generate_assignment` gives it.

    Raises RuntimeError or nbgrader's ValidationError when its markers or metadata are wrong.
    """
    import nbgrader.preprocessors as steps

    shared = config()
    resources = {"metadata": {}}
    # GenerateAssignment's own list, less SaveCells: it writes the cells into a gradebook, and there is none.
    for step in (
        steps.IncludeHeaderFooter,
        steps.InstantiateTests,
        steps.LockCells,
        steps.ClearSolutions,
        steps.ClearOutput,
        steps.CheckCellMetadata,
        steps.ComputeChecksums,
        steps.ClearHiddenTests,
        steps.ClearMarkScheme,
        steps.ComputeChecksums,
        steps.CheckCellMetadata,
    ):
        notebook, resources = step(config=shared).preprocess(notebook, resources)
    return notebook


def main(course: Path = ROOT / "course", out: Path | None = None) -> int:
    """Releases every source notebook with nbgrader, into course/release/ or `out`; 0 when all went well."""
    where = [] if out is None else [f"--CourseDirectory.release_directory={out.absolute()}"]
    names = sorted(folder.name for folder in (course / "source").iterdir() if folder.is_dir())
    # nbgrader calls alembic from the PATH
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    for name in names:
        done = subprocess.run(
            [sys.executable, "-m", "nbgrader", "generate_assignment", name, "--force", *where],
            cwd=course,
            env={**os.environ, "PATH": path},
        )
        if done.returncode:
            print(f"release: nbgrader could not release {name}; its message is above.", file=sys.stderr)
            return done.returncode
        print(f"released {out or 'course/release'}/{name}/")
    return 0


if __name__ == "__main__":
    sys.exit(main())
