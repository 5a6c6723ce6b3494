"""Every submission of the corpus for problems with tensors gets its verdict, and leaves the course as it was."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from contained import Course, why_not

from grader import layers, problems

CORPUS = Path(__file__).parents[1] / "corpus" / "tensors"
VERDICTS = json.loads((CORPUS / "verdicts.json").read_text(encoding="utf-8"))
ALWAYS = ("accept/plain", "reject/eager", "reject/cached_by_data_ptr", "hostile/lazy_tensor", "hostile/edits_the_tape",
          "hostile/shape_of_a_petabyte")  # fmt: skip
EVERYTHING = os.environ.get("SLOW") == "2"  # every file: CI has no time for it
FEW = {f"132/{name}.py" for name in ALWAYS}
NAMES = [n for n in VERDICTS if EVERYTHING or n in FEW]


def whole(name: str, course: str = "") -> str:
    """The text of a submission, with the files that it begins with in their place."""

    def other(found: re.Match) -> str:
        return whole(f"{name.split('/')[0]}/{found[1]}", course)

    text = (CORPUS / name).read_text(encoding="utf-8")
    return re.sub(r"^# @(\w+/\w+\.py)@$", other, text, flags=re.M).replace("@COURSE@", course)


@pytest.fixture(scope="module")
def outcomes():
    """Judges them all once: {file: (json, exit status)}, and the tree's checksum before and after."""
    if (reason := why_not() or layers.bubblewrap_reason()) is not None:
        pytest.skip(reason)
    folder = Path(tempfile.mkdtemp(prefix="corpus-tensors-"))
    folder.chmod(0o755)
    try:
        course = Course(folder)
        for name in NAMES:
            target = folder / "submissions" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(whole(name, str(course.path)), encoding="utf-8")
        before = course.checksum()

        def one(name: str):
            where = str(folder / "submissions" / name)
            number = name.split("/")[0]
            return course.judge(number, where, "--sandbox", "bubblewrap", name=name.replace("/", "-"))

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            found = dict(zip(NAMES, pool.map(one, NAMES), strict=True))
        yield found, before, course.checksum()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize("name", NAMES)
def test_verdict(outcomes, name):
    report, status = outcomes[0][name]
    first = [t["message"] for t in report["tests"] if t["outcome"] != "passed"][:1]
    on_the_tape, _, on_cuda = VERDICTS[name].partition("; on CUDA: ")
    allowed = on_cuda if on_cuda and report["device"] == "cuda" else on_the_tape
    assert report["verdict"] in allowed.split("|"), f"{report['verdict']}: {first}"
    assert status == (0 if report["verdict"] == "accepted" else 1)
    assert report["total"] == problems.get(name.split("/")[0]).hidden_tests


def test_the_course_is_as_it_was(outcomes):
    _, before, after = outcomes
    assert before == after


def test_the_manifest_names_every_file_with_the_verdict_in_its_head():
    found = {}
    for path in sorted(CORPUS.rglob("*.py")):
        first = path.read_text(encoding="utf-8").split("\n", 1)[0]
        found[path.relative_to(CORPUS).as_posix()] = first.removeprefix("# verdict: ")
    assert found == VERDICTS
    assert set(found) >= FEW
