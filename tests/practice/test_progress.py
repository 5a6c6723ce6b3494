"""Progress: judged part by part or whole, a problem's status speaks of the file as it is now."""

import pytest

from grader import problems, progress, workspace
from grader.problems import ROOT

PROBLEM = problems.get(133)
ALL = {part: (about.tests, about.tests) for part, about in PROBLEM.parts.items()}


@pytest.fixture
def file(request):
    place = request.getfixturevalue("workspace")  # of conftest: sets where the workspace is
    workspace.ensure_package()
    return place / "mini_llm" / "buckets.py"


def solve(file):
    file.write_text((ROOT / "mini_llm" / "buckets.py").read_text())


def test_accepted_part_by_part_while_the_file_grows(file):
    solve(file)
    for n, (part, counts) in enumerate(ALL.items()):
        assert progress.status(PROBLEM) == "started"
        progress.record(PROBLEM, {part: counts}, file.read_bytes())
        # what another cell puts there takes nothing back
        file.write_text(file.read_text() + f"\n\ndef other{n}():\n    return {n}\n")
    assert progress.status(PROBLEM) == "accepted"
    assert progress.status(problems.get(134)) == "started"  # written, not judged


def test_an_edit_of_a_part_or_of_what_it_uses_takes_its_verdict_back(file):
    solve(file)
    good = file.read_text()
    progress.record(PROBLEM, ALL, file.read_bytes())
    assert progress.status(PROBLEM) == "accepted"
    for edit in (
        good.replace("def pad_to(", "def pad_to_x("),
        good + "\n\ndef pad_to(bs, sizes):\n    return 1\n",
        good + "\n\nprint('runs at import')\n",
        good + "\n)",
    ):
        file.write_text(edit)
        assert progress.status(PROBLEM) == "started" and not progress.last(PROBLEM, "pad_to")["current"]
    helper = "\n\ndef pad_to(bs, sizes):\n    return helper(bs)\n\n\ndef helper(n):\n    return n\n"
    before, after = good + helper, good + helper.replace("return n\n", "return 2\n")
    assert progress.mark(before.encode(), "pad_to") != progress.mark(after.encode(), "pad_to")
    alone = good + "\n\ndef unrelated():\n    return 1\n"
    assert progress.mark(alone.encode(), "pad_to") == progress.mark(good.encode(), "pad_to")
    file.write_text(good)
    assert progress.status(PROBLEM) == "accepted"


def test_a_stub_is_not_started_and_a_test_that_passes_or_a_body_starts_it(file):
    assert progress.status(PROBLEM) == "not started"
    progress.record(PROBLEM, {"pad_to": (0, 4)}, file.read_bytes())
    assert progress.status(PROBLEM) == "not started"
    progress.record(PROBLEM, {"pad_to": (1, 4)}, file.read_bytes())
    assert progress.status(PROBLEM) == "started"


def test_fewer_tests_than_the_part_has_are_no_acceptance(file):
    progress.record(PROBLEM, {part: (1, 1) for part in ALL}, file.read_bytes())
    assert progress.status(PROBLEM) == "started"


def test_hints_and_parts_are_kept_apart_and_a_damaged_record_counts_as_none(file):
    progress.remember(PROBLEM, hints=2)
    progress.record(PROBLEM, ALL, file.read_bytes())
    assert progress.read()["133"]["hints"] == 2 and progress.last(PROBLEM, "pad_to")["accepted"]
    for damaged in ("{", "[]", '{"133": 3}', '{"133": {"parts": 3}}', '{"133": {"parts": {"pad_to": {}}}}'):
        workspace.write(workspace.path() / ".course" / "progress.json", damaged.encode())
        assert progress.last(PROBLEM, "pad_to") is None and progress.status(PROBLEM) == "not started"


@pytest.mark.parametrize("damaged", ["<<<<<<< HEAD\n{}", "[]", "[" * 100_000], ids=["conflict", "list", "deep"])
def test_a_damaged_file_is_put_aside_and_not_written_over(file, damaged, capsys):
    place = workspace.path() / ".course" / "progress.json"
    for n in range(2):
        workspace.write(place, damaged.encode())
        progress.remember(PROBLEM, hints=n + 1)
        assert progress.read() == {"133": {"hints": n + 1}}
    said = capsys.readouterr().err
    for name in ("progress.damaged.json", "progress.damaged-2.json"):
        assert place.with_name(name).read_text() == damaged and name in said


def test_what_cannot_be_read_is_not_written_over(file, monkeypatch):
    progress.remember(PROBLEM, hints=2)
    place = workspace.path() / ".course" / "progress.json"
    before = place.read_bytes()

    def refused(*_args, **_options):
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(type(place), "read_text", refused)
        with pytest.raises(PermissionError):
            progress.remember(PROBLEM, hints=3)
    assert place.read_bytes() == before
