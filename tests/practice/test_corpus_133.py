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
from judging import LAYER_SETS

CORPUS = Path(__file__).parents[1] / "corpus"
VERDICTS = {
    f"{folder}/{name}": verdict
    for folder in ("133", "133_more")
    for name, verdict in json.loads((CORPUS / folder / "verdicts.json").read_text(encoding="utf-8")).items()
}
EVERYTHING = os.environ.get("SLOW") == "2"  # the further corpus too: CI has no time for it


def names(asked: str) -> list[str]:
    """The files that are judged under these layers: in CI all of 133/ under the first set, its attacks under both."""
    return [n for n in VERDICTS if EVERYTHING or n.startswith("133/" if asked == "bubblewrap" else "133/hostile/")]


CASES = [
    pytest.param(asked, name, marks=[pytest.mark.slow] if asked != "bubblewrap" else [])
    for asked in LAYER_SETS
    for name in names(asked)
]


def judge_all(asked: str) -> dict[str, tuple[dict, int]]:
    """{file: (json, exit status)} under these layers. The course must be as it was afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="corpus-133-"))
    folder.chmod(0o755)
    try:
        course = Course(folder)
        submissions = folder / "submissions"
        for name in names(asked):
            target = submissions / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((CORPUS / name).read_bytes().replace(b"@COURSE@", str(course.path).encode()))
        before = course.checksum()

        def one(name: str):
            where = str(submissions / name)
            return course.judge("133", where, "--sandbox", asked, name=name.replace("/", "-"))

        with ThreadPoolExecutor(os.cpu_count() + 1) as pool:  # some only wait for their time to be over
            found = dict(zip(names(asked), pool.map(one, names(asked)), strict=True))
        assert course.checksum() == before, "a file of the corpus changed the course"
        return found
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def outcomes():
    """`judge_all`, once for each set of layers, whether it ends well or not."""
    done = {}

    def of(asked: str) -> dict:
        if asked not in done:
            try:
                done[asked] = judge_all(asked)
            except Exception as error:
                done[asked] = error
        if isinstance(done[asked], Exception):
            raise done[asked]
        return done[asked]

    return of


@pytest.mark.parametrize(("asked", "name"), CASES)
def test_verdict(outcomes, asked, name):
    if (reason := why_not() or LAYER_SETS[asked]()) is not None:
        pytest.skip(reason)
    report, status = outcomes(asked)[name]
    allowed = VERDICTS[name].split("|")
    first = [t["message"] for t in report["tests"] if t["outcome"] != "passed"][:1]
    assert report["verdict"] in allowed, f"{report['verdict']}: {first}"
    assert status == (0 if report["verdict"] == "accepted" else 1)
    assert report["total"] == 16 and report["score"] == pytest.approx(report["passed"] / 16, abs=1e-12)
