"""A problem that needs a package which is not installed: one sentence everywhere, and never the learner's fault."""

from __future__ import annotations

import pytest
import toy

from grader import check, cli, layers, problems
from grader.runner import judge

SENTENCE = "problem 900 needs no_such_package, which is not installed here (make learn installs it)"


@pytest.fixture
def problem(tmp_path, monkeypatch, workspace):
    changed = toy.FILES["problem.md"].replace("needs: [torch]", "needs: [torch, no_such_package]")
    monkeypatch.setitem(toy.FILES, "problem.md", changed)
    return toy.install(tmp_path, monkeypatch)


def test_judging_it_is_refused_with_one_sentence(problem, tmp_path, capsys):
    assert problem.lacks == SENTENCE
    with pytest.raises(layers.SandboxError, match="needs no_such_package"):
        judge(problem, b"", "mine.py")
    mine = tmp_path / "mine.py"
    mine.write_text("")
    assert cli.main(["900", str(mine)]) == 3
    assert " ".join(capsys.readouterr().err.split()) == f"judge: {SENTENCE}."


def test_list_and_start_say_so(problem, capsys):
    assert cli.main(["list"]) == 0
    assert "needs no_such_package" in capsys.readouterr().out
    assert cli.main(["start", "900"]) == 0
    assert "It cannot be judged yet: problem 900 needs no_such_package" in " ".join(capsys.readouterr().out.split())


def test_all_and_check_leave_it_out_and_say_why(problem, workspace, capsys):
    cli.main(["start", "900"])
    (workspace / "mini_llm" / "graphs.py").write_text(toy.right())
    capsys.readouterr()
    assert cli.main(["all"]) == 1
    assert SENTENCE in " ".join(capsys.readouterr().out.split())
    lines = []
    printer = type("Console", (), {"print": lambda self, text: lines.append(text)})()
    assert check.run([problem], 1, None, printer) == []
    assert lines == [f"900_toy: skipped: {SENTENCE}"]


def test_what_is_installed_is_not_missed():
    assert problems.get(133).lacks == ""
