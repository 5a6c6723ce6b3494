"""The judge panel: what it shows, that it escapes, and that it never blocks or breaks a notebook."""

import os
import threading
import time

import pytest

import kit
from grader import problems, progress
from grader.problems import ProblemError
from kit import judging, panel
from kit.judging import Report, hints_for, judge_now
from kit.report import as_html, as_text

TEST = {
    "name": "pad_to_top",
    "part": "pad_to",
    "outcome": "passed",
    "rule": "Above the top there is no graph.",
}
BAD = {
    "name": "pad_to_smallest", "part": "pad_to", "outcome": "wrong answer", "rule": "The smallest that fits.",
    "call": "pad_to(3, [1, 2, 4])", "expected": "4", "got": "'<b>2</b>'", "diagnosis": "takes the size below",
    "printed": "<script>alert(1)</script>\n", "why": "the value differs", "seconds": 0.1, "message": "",
}  # fmt: skip
DATA = {
    "problem": 133, "verdict": "wrong answer", "passed": 1, "total": 2, "score": 0.5, "seed": 7,
    "seconds": 0.25, "sandbox": ["process", "bubblewrap"], "tests": [TEST, BAD], "notes": [],
}  # fmt: skip
PROBLEM = problems.get(133)


def test_a_failing_test_shows_input_expected_got_and_the_mistake_escaped():
    page = as_html(PROBLEM, "pad_to", Report(DATA))
    for shown in ("wrong answer", "1 of 2 tests", "seed 7", "process + bubblewrap", "The smallest that fits.",
                  "pad_to(3, [1, 2, 4])", "takes the size below", "your code printed"):  # fmt: skip
        assert shown in page
    assert "<script>" not in page and "<b>2</b>" not in page and "&lt;b&gt;2&lt;/b&gt;" in page
    assert "python judge.py 133 --part pad_to --seed 7" in page
    text = as_text(PROBLEM, "pad_to", Report(DATA))
    assert "✗ The smallest that fits." in text and "expected: 4" in text


def test_accepted_stubs_errors_and_repeated_reasons():
    accepted = {**DATA, "verdict": "accepted", "tests": [TEST]}
    page = as_html(PROBLEM, None, Report(accepted))
    assert "✓ accepted" in page and "--seed" not in page
    stub = {**DATA, "verdict": "error", "tests": [{**BAD, "stub": True, "outcome": "error"}]}
    page = as_html(PROBLEM, "pad_to", Report(stub))
    assert "not written yet" in page and "still the stub" in page and "kit-fail" not in page
    assert "no report &lt;" in as_html(PROBLEM, None, Report(error="no report <"))
    same = {**BAD, "outcome": "import error", "call": "", "why": "line 3"}
    report = Report({**DATA, "tests": [same] * 5 + [{**TEST, "outcome": "not run"}]})
    assert len(report.failures) == 1 and "not run" in as_html(PROBLEM, None, report)


def test_values_of_any_length_stay_readable():
    page = as_html(PROBLEM, None, Report({**DATA, "tests": [{**BAD, "got": "9" * 10_000}] * 6}))
    assert "characters ..." in page and "3 more failed tests" in page and len(page) < 40_000


@pytest.fixture
def widget(monkeypatch):
    """A panel whose judge is ours: call it with a report and it has been judged."""
    release = threading.Event()
    reports = []

    def slow(problem, part=None):
        release.wait(60)
        return reports[0]

    monkeypatch.setattr(judging, "judge_now", slow)
    made = kit.judge(133, "pad_to")

    def finish(report):
        reports.append(report)
        release.set()
        for _ in range(3000):
            if made.report and not made.button.disabled:
                return
            time.sleep(0.02)

    return made, finish


def test_a_click_judges_in_the_background_and_the_panel_follows(widget):
    made, finish = widget
    assert made.button.description == "Judge"
    made.button.click()
    assert made.report is None and made.button.disabled  # the click returned before the judge did
    finish(Report(DATA))
    assert "wrong answer" in made.result.value and made.button.description == "Judge again"
    assert not made.button.disabled and made.report.verdict == "wrong answer"


def test_it_warns_before_and_after_when_cell_and_file_differ(widget, monkeypatch):
    made, finish = widget
    monkeypatch.setattr(panel, "differences", lambda p: ["pad_to: <differs>", "best_sizes: differs"])
    made.button.click()
    assert "pad_to: &lt;differs&gt;" in made.warning.value and "best_sizes" not in made.warning.value
    finish(Report({**DATA, "notes": ["pad_to: <differs>"]}))
    assert made.warning.value.count("differs") == 1


def test_one_more_failed_test_is_named_so():
    assert "1 more failed test<" in as_html(PROBLEM, None, Report({**DATA, "tests": [BAD] * 4}))


def test_the_result_says_when_the_judged_code_was_written(ws, shell):
    file = ws / "mini_llm" / "buckets.py"
    shell.run_cell("%%grow mini_llm/buckets.py\ndef pad_to(bs, sizes):\n    return 1\n")
    grown = judging.written_at(PROBLEM, "pad_to")
    os.utime(file, (1000, 1000))  # another cell writes the file: pad_to is as old as before
    assert judging.written_at(PROBLEM, "pad_to") == grown > 1000 == judging.written_at(PROBLEM, "best_sizes")
    assert judging.written_at(PROBLEM, None) == 1000
    file.write_text(file.read_text().replace("return 1\n", "return 2\n"))
    os.utime(file, (2000, 2000))
    assert judging.written_at(PROBLEM, "pad_to") == 2000
    clock = time.strftime("%H:%M:%S", time.localtime(grown))
    report = Report(DATA, written=grown)
    for said in (as_html(PROBLEM, "pad_to", report), as_text(PROBLEM, "pad_to", report)):
        assert f"judged: pad_to as written at {clock}" in said
    old = as_html(PROBLEM, None, Report(DATA, written=0.0))
    assert "judged: mini_llm/buckets.py as written on 19" in old
    assert "as written" not in as_html(PROBLEM, None, Report(DATA))


def test_a_function_that_only_the_notebook_has_is_pointed_out(ws, shell, monkeypatch):
    monkeypatch.setattr(panel, "_namespace", lambda: shell.user_ns)
    made = kit.judge(133, "pad_to")
    assert made._differences() == []
    plain = "def pad_to(bs, sizes):\n    return 1\n"
    warning = "pad_to is defined in the notebook, not in the file: is the %%grow line missing?"
    shell.run_cell(plain)
    assert made._differences() == [warning]
    shell.run_cell("%%grow mini_llm/buckets.py\n" + plain)
    assert made._differences() == []
    shell.run_cell(plain)
    assert made._differences() == kit.judge(133)._differences() == [warning]
    assert kit.judge(133, "best_sizes")._differences() == []


def test_a_panel_made_again_shows_the_last_verdict_and_whether_the_file_is_another_now(ws):
    file = ws / "mini_llm" / "buckets.py"
    assert kit.judge(133, "pad_to").result.value == ""
    progress.record(PROBLEM, {"pad_to": (4, 4), "best_sizes": (1, 7)}, file.read_bytes())
    page = kit.judge(133, "pad_to").result.value
    assert "✓ accepted" in page and "4 of 4 tests, judged at " in page and "judge again" not in page
    assert "✗ not accepted" in kit.judge(133, "best_sizes").result.value
    assert kit.judge(133).result.value == ""  # one part was never judged
    file.write_text(file.read_text().replace("def pad_to(", "def pad_to(x=1, "))
    assert "the file has changed since: judge again" in kit.judge(133, "pad_to").result.value


def test_the_explanation_waits_until_the_whole_problem_is_accepted(ws, widget):
    made, finish = widget
    file = ws / "mini_llm" / "buckets.py"
    file.write_text((judging.ROOT / "mini_llm" / "buckets.py").read_text())
    assert made.explain.layout.display == "none"
    assert made.button.layout.display is None and made.hint.layout.display is None
    progress.record(PROBLEM, {part: (p.tests, p.tests) for part, p in PROBLEM.parts.items()}, file.read_bytes())
    assert kit.judge(133, "best_sizes").explain.layout.display is None
    made.button.click()
    finish(Report(DATA))
    assert made.explain.layout.display is None and made.explanation.value == ""
    made.explain.click()
    assert "Explanation</div><p>" in made.explanation.value


def test_hints_come_one_by_one_for_the_part():
    assert hints_for(PROBLEM, None) == PROBLEM.hints
    own = hints_for(PROBLEM, "best_sizes")
    assert own and "best_sizes" in own[0] and set(own) < set(PROBLEM.hints)
    made = kit.judge(133, "best_sizes")
    assert made.hint.description == f"Hint 1 of {len(own)}"
    for _ in own:
        made.hint.click()
    assert made.hint.disabled and made.hint_text.value.count("kit-title") == len(own)


def test_text_where_there_are_no_widgets():
    made = kit.judge(133, "pad_to")
    assert "python judge.py 133 --part pad_to" in repr(made)
    bundle = made._repr_mimebundle_()
    assert bundle["text/plain"] == repr(made) and "application/vnd.jupyter.widget-view+json" in bundle


def test_a_problem_or_part_that_does_not_exist():
    with pytest.raises(ProblemError, match="no problem 999"):
        kit.judge(999)
    with pytest.raises(ProblemError, match="has no part 'x'"):
        kit.judge(133, "x")


def test_the_real_judge_on_a_stub_and_on_the_reference(ws, tmp_path, capsys):
    made = kit.judge(133, "pad_to")
    assert made.run() != "accepted"
    assert "pad_to" in capsys.readouterr().out
    good = tmp_path / "good.py"
    good.write_text("def pad_to(bs, sizes):\n    return min((s for s in sizes if s >= bs), default=None)\n")
    report = judge_now(PROBLEM, "pad_to", seed=3, file=good)
    assert report.accepted and report.data["seed"] == 3 and {t["part"] for t in report.tests} == {"pad_to"}


def test_a_judge_that_breaks_is_reported_not_raised(monkeypatch):
    monkeypatch.setattr(judging, "ROOT", judging.ROOT / "nowhere")
    assert "The judge gave no report" in judge_now(PROBLEM).error
