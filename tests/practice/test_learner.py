"""What a learner types besides `judge.py 133`: list, show, hint, solution, progress, all."""

from __future__ import annotations

import json
import os
import shutil

import pytest
from judging import judge, run

from grader import cli, problems, progress
from grader.problems import ROOT


@pytest.fixture
def file(workspace):
    """The learner's buckets.py, with everything in it right."""
    run("start", 133)
    shutil.copyfile(ROOT / "mini_llm" / "buckets.py", workspace / "mini_llm" / "buckets.py")
    return workspace / "mini_llm" / "buckets.py"


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines()]


def one(found: dict, number: int) -> dict:
    return next(p for c in found["chapters"] for p in c["problems"] if p["id"] == number)


def test_hints_come_one_by_one_and_are_remembered(workspace):
    hints = len(problems.get(133).hints)
    for which in [*range(1, hints + 1), hints]:
        said = json.loads(run("hint", 133, "--json").stdout)
        assert (said["hint"], said["hints"]) == (which, hints) and said["text"]
    assert run("hint", 133, 2).stdout.startswith(f"Hint 2 of {hints}")
    assert json.loads(run("hint", 133, "--json").stdout)["hint"] == hints  # reading one again takes nothing back


def test_a_hint_asked_for_by_its_number_counts_as_read(workspace):
    run("hint", 133, 2)
    assert run("hint", 133).stdout.startswith("Hint 3 of")


def test_hints_in_chinese_where_there_are_some(workspace, monkeypatch, capsys):
    for problem in problems.load_all().values():
        assert len(problem.hints_zh) in (0, len(problem.hints)), problem.slug
        assert bool(problem.hints_zh) == bool(problem.section("讲解")), problem.slug
    assert cli.main(["hint", "133", "1", "--zh"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("提示 1（共 5 条）") and "Start with" not in said
    monkeypatch.setattr(problems.Problem, "hints_zh", [])  # a problem with English hints only
    assert cli.main(["hint", "133", "1", "--zh"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("Hint 1 of 5") and "还没有中文提示" in said


def test_the_solution_is_asked_for_first(workspace, file):
    file.write_text("")
    refused = run("solution", 133)
    assert refused.returncode == 2 and "def pad_to" not in refused.stdout
    shown = run("solution", 133, "--yes").stdout
    for words in ("def pad_to(", "def best_sizes(", "bisect", "dynamic programming"):
        assert words in shown
    assert "default_capture_sizes" not in shown  # another problem's
    code = shown.split("\n\n", 1)[1].split("\nBetween two")[0]
    compile(code, "solution", "exec")  # no line of it is broken


def test_the_solution_is_free_once_yours_is_accepted(file):
    judge(133)
    assert "def pad_to(" in run("solution", 133).stdout


def test_progress_says_what_is_accepted_started_and_changed(file):
    assert judge(133)["verdict"] == "accepted"
    found = json.loads(run("progress", "--json").stdout)
    mine, other = one(found, 133), one(found, 134)
    assert (mine["status"], mine["stale"], mine["core"]) == ("accepted", False, True)
    assert (other["status"], other["core"]) == ("started", False)
    chapter = next(c for c in found["chapters"] if c["chapter"] == mine["chapter"])
    assert chapter["accepted"] == 1 and chapter["minutes_accepted"] == mine["minutes"] < chapter["minutes"]
    assert found["core"]["accepted"] == 1
    file.write_text(file.read_text().replace("return 0.0", "return 0"))
    changed = one(json.loads(run("progress", "--json").stdout), 133)
    assert (changed["status"], changed["stale"]) == ("started", True)
    printed = run("progress").stdout
    assert "changed since it was accepted" in printed and "core path" in printed and "录制批大小" in printed


def test_all_judges_only_what_is_not_accepted_and_unchanged(file):
    def judged(*options: str) -> dict:
        said = json.loads(run("all", "--json", *options).stdout.splitlines()[-1])
        return {p["problem"]: (p["judged"], p["verdict"]) for p in said["problems"]}

    first = judged()
    assert first[133] == first[134] == (True, "accepted")
    assert judged()[133] == judged()[134] == (False, "accepted")
    assert judged("--again")[133] == (True, "accepted")
    file.write_text(file.read_text().replace("return 0.0", "return 1.0"))
    ran = run("all")
    assert ran.returncode == 1 and "wrong answer" in ran.stdout and "--seed" in ran.stdout
    assert judged()[134] == (False, "accepted")


def test_all_does_not_run_a_stub(workspace):
    said = json.loads(run("all", "--json").stdout.splitlines()[-1])
    assert {(p["judged"], p["verdict"]) for p in said["problems"]} == {(False, "not written")}
    assert run("all").returncode == 1


def test_the_core_path_is_what_the_design_names():
    assert progress.CORE == (130, 131, 132, 133, 135, 137, 142, 143)


@pytest.mark.parametrize("command", [("list",), ("progress",), ("show", 133), ("show", 133, "--zh"), ("start", 133)])
def test_titles_in_both_languages(command, workspace, capsys):
    assert cli.main([str(word) for word in command]) == 0
    said = capsys.readouterr().out
    assert "Choose CUDA Graph capture batch sizes" in said and "录制批大小" in said


@pytest.mark.parametrize("columns", [24, 50, 80, 400])
def test_lines_fit_the_terminal_and_are_never_endless(workspace, columns, monkeypatch, capsys):
    from rich.cells import cell_len

    monkeypatch.setenv("COLUMNS", str(columns))
    for command in (["list"], ["progress"], ["show", "133"], ["show", "133", "--zh"], ["hint", "133"]):
        assert cli.main(command) == 0
        for line in lines(capsys.readouterr().out):
            if "judge.py" not in line:  # a command stands on one line, to be copied
                assert cell_len(line) <= min(columns, 100), (command, line)


def test_no_color_is_honoured(workspace):
    env = os.environ | {"FORCE_COLOR": "1", "TERM": "xterm-256color"}
    coloured, plain = (run("list", env=env | extra).stdout for extra in ({}, {"NO_COLOR": "1"}))
    assert "\x1b[32m" in coloured or "\x1b[33m" in coloured
    assert "\x1b[3" not in plain.replace("\x1b[3m", "")


def test_json_of_show_and_doctor(workspace):
    shown = json.loads(run("show", 133, "--json").stdout)
    assert shown["id"] == 133 and "pad_to" in shown["statement"] and "批" in shown["statement_zh"]
    ran = run("doctor", "--json")
    found = json.loads(ran.stdout)
    assert ran.returncode == (0 if found["strong"] else 1)
    assert {row["name"] for row in found["layers"]} >= {"bubblewrap", "process alone"}


def test_a_command_is_spelled_as_it_is_typed_where_one_is(workspace):
    run("start", 133)
    assert "\n  python practice/judge.py start " in run("progress", cwd=ROOT).stdout
    assert "\n  python judge.py start " in run("progress", cwd=workspace).stdout
    assert "`python judge.py list`" in run("show", cwd=workspace).stderr
    (workspace / "judge.py").write_text("mine = 1\n")  # not the course's
    assert "python judge.py" not in run("progress", cwd=workspace).stdout


def test_a_workspace_that_cannot_be_made_is_said(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MINI_LLM_WORKSPACE", str(tmp_path / "file"))
    for command in ((133,), ("reset", 133, "--yes"), ("all",)):
        ran = run(*command)
        assert ran.returncode == 2 and "cannot be made" in ran.stderr and "MINI_LLM_WORKSPACE" in ran.stderr
    assert run("hint", 133).returncode == 0  # which needs none
