"""nbgrader's settings for this course; INSTRUCTORS.md says how a class is graded with them.

Read whenever nbgrader runs in this folder or with `--course-dir` naming it, and by Formgrader.
"""

import os
import sys
from pathlib import Path

COURSE = Path(__file__).resolve().parent
for folder in (COURSE.parent / "practice", COURSE):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
# nbgrader makes its gradebook with the command alembic, which is where Python is and not always on the PATH
bin_folder = str(Path(sys.executable).parent)
if bin_folder not in os.environ.get("PATH", "").split(os.pathsep):
    os.environ["PATH"] = os.pathsep.join([bin_folder, os.environ.get("PATH", "")])

from nbgrader.server_extensions.formgrader import handlers as formgrader  # noqa: E402

from kit import release  # noqa: E402

c = get_config()  # noqa: F821
c.merge(release.config())

c.CourseDirectory.course_id = "mini_llm"
c.CourseDirectory.root = str(COURSE)

# Where assignments are handed out and in. A class with accounts of its own needs a folder all can write to.
exchange = Path(os.environ.get("MINI_LLM_EXCHANGE") or COURSE / "exchange")
if exchange.parent == COURSE:
    exchange.mkdir(exist_ok=True)
c.Exchange.root = str(exchange)

# Students' code is judged outside of any kernel: see kit/nbgrading.py. (Names rather than classes, so that
# Formgrader can show this configuration.)
c.Autograde.exporter_class = "kit.nbgrading.SubmissionExporter"
c.Autograde.sanitize_preprocessors = [
    "kit.nbgrading.Mend",
    "nbgrader.preprocessors.ClearOutput",
    "nbgrader.preprocessors.DeduplicateIds",
    "nbgrader.preprocessors.OverwriteKernelspec",
    "nbgrader.preprocessors.OverwriteCells",
    "nbgrader.preprocessors.CheckCellMetadata",
]
c.Autograde.autograde_preprocessors = [
    "kit.nbgrading.JudgeAnswers",
    "nbgrader.preprocessors.IgnorePattern",
    "nbconvert.preprocessors.ClearMetadataPreprocessor",
    "nbgrader.preprocessors.LimitOutput",
    "kit.nbgrading.SaveGrades",
    "nbgrader.preprocessors.AssignLatePenalties",
    "nbgrader.preprocessors.CheckCellMetadata",
]
c.JudgeAnswers.seconds = 600  # for one problem; then a person has to look
c.ExecutePreprocessor.timeout = 60  # for `nbgrader validate`, which runs a student's notebook as they would

# The pages that students and graders read.
c.HTMLExporter.filters = {"markdown2html": "kit.safe_html.markdown2html"}
c.GenerateFeedback.exporter_class = "kit.nbgrading.FeedbackExporter"
c.FeedbackExporter.template_name = "course_feedback"  # in kit/templates; it extends nbgrader's own
c.FeedbackExporter.extra_template_basedirs = [str(COURSE / "kit" / "templates"), formgrader.template_path]
c.FeedbackExporter.extra_template_paths = [
    formgrader.template_path,
    str(Path(formgrader.static_path, "node_modules", "bootstrap", "dist", "css")),
]
