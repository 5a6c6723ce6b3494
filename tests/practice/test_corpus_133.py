"""Every submission of the corpus gets its verdict, under each strong layer, and leaves the course as it was."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from contained import Course, why_not

from grader import layers

CORPUS = Path(__file__).parents[1] / "corpus"
VERDICTS = {
    f"{folder}/{name}": verdict
    for folder in ("133", "133_more")
    for name, verdict in json.loads((CORPUS / folder / "verdicts.json").read_text(encoding="utf-8")).items()
}
EVERYTHING = os.environ.get("SLOW") == "2"  # the further corpus too: CI has no time for it
LAYER_SETS = {"bubblewrap": layers.bubblewrap_reason, "landlock,seccomp": layers.landlock_reason}


def names(asked: str) -> list[str]:
    """The files that are judged under these layers: in CI all of 133/ under the first set, its attacks under both."""
    return [n for n in VERDICTS if EVERYTHING or n.startswith("133/" if asked == "bubblewrap" else "133/hostile/")]


SETS = ["bubblewrap", pytest.param("landlock,seccomp", marks=pytest.mark.slow)]
CASES = [
    pytest.param(asked, name, marks=[pytest.mark.slow] if asked != "bubblewrap" else [])
    for asked in LAYER_SETS
    for name in names(asked)
]


@pytest.fixture(scope="module", params=SETS)
def outcomes(request):
    """Judges the files once: {file: (json, exit status)}, and the tree's checksum before and after."""
    if (reason := why_not() or LAYER_SETS[request.param]()) is not None:
        pytest.skip(reason)
    folder = Path(tempfile.mkdtemp(prefix="corpus-133-"))
    folder.chmod(0o755)
    try:
        course = Course(folder)
        submissions = folder / "submissions"
        for name in names(request.param):
            target = submissions / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((CORPUS / name).read_bytes().replace(b"@COURSE@", str(course.path).encode()))
        before = course.checksum()

        def one(name: str):
            where = str(submissions / name)
            return course.judge("133", where, "--sandbox", request.param, name=name.replace("/", "-"))

        with ThreadPoolExecutor(os.cpu_count() + 1) as pool:  # some only wait for their time to be over
            found = dict(zip(names(request.param), pool.map(one, names(request.param)), strict=True))
        yield found, before, course.checksum()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize(("outcomes", "name"), CASES, indirect=["outcomes"])
def test_verdict(outcomes, name):
    report, status = outcomes[0][name]
    allowed = VERDICTS[name].split("|")
    first = [t["message"] for t in report["tests"] if t["outcome"] != "passed"][:1]
    assert report["verdict"] in allowed, f"{report['verdict']}: {first}"
    assert status == (0 if report["verdict"] == "accepted" else 1)
    assert report["total"] == 16 and report["score"] == pytest.approx(report["passed"] / 16, abs=1e-12)


def test_the_course_is_as_it_was(outcomes):
    _, before, after = outcomes
    assert before == after
