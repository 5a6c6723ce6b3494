"""A judgement as HTML for the panel, and as text where there are no widgets. All of it is escaped."""

from __future__ import annotations

import html
import time

from grader import progress
from grader.problems import Problem
from kit.judging import NOT_RUN, PASSED, Report, command

SHOWN = 3  # failing tests that are shown in full
MOST = 1500  # characters of a value or of the learner's output
_MARK = {PASSED: ("good", "✓"), NOT_RUN: ("none", "·")}


def rule(test: dict) -> str:
    """What the test checks, in words."""
    return str(test.get("rule") or test.get("property") or test.get("name", "").replace("_", " "))


def rows(test: dict) -> list[tuple[str, str, str]]:
    """What a failing test has to say: (label, text, kind), kind one of code, words, name."""
    got, why = str(test.get("got") or ""), str(test.get("why") or test.get("message") or "")
    plain = not got or "value differs" not in why
    found = [
        ("input", test.get("call"), "code"),
        ("expected", test.get("expected"), "code"),
        ("got", got, "code"),
        ("why" if got else "what happened", why if plain else "", "words"),
        ("likely mistake", test.get("diagnosis"), "name"),
        ("note", test.get("share"), "words"),
        ("where", test.get("trace"), "code"),
        ("your code printed", (test.get("printed") or "").rstrip(), "code"),
    ]
    return [(label, cut(str(text)), kind) for label, text, kind in found if text]


def cut(text: str) -> str:
    """A text of bearable length, its middle left out."""
    if len(text) <= MOST:
        return text
    return f"{text[: MOST // 2]}\n[... {len(text) - MOST} characters ...]\n{text[-MOST // 2 :]}"


def again(problem: Problem, part: str | None, report: Report) -> str:
    """The terminal command that repeats this judgement on the same inputs."""
    return "python judge.py " + " ".join(command(problem, part, report.data.get("seed")))


def judged(problem: Problem, part: str | None, report: Report) -> str:
    """Which code this verdict speaks of; '' where that is not known."""
    if report.written is None:
        return ""
    return f"judged: {part or f'mini_llm/{problem.module}'} as written {when(report.written)}"


def as_html(problem: Problem, part: str | None, report: Report) -> str:
    """The panel's result."""
    if report.error:
        return f'<div role="status"><p class="kit-warn">{html.escape(report.error)}</p></div>'
    kind = "good" if report.accepted else "bad"
    verdict = "not written yet" if report.all_stubs else report.verdict
    kind = "none" if report.all_stubs else kind
    sign = {"good": "✓ ", "bad": "✗ ", "none": ""}[kind]
    head = (
        f'<div class="kit-head"><span class="kit-badge {kind}">{sign}{html.escape(verdict)}</span>'
        f'<span class="kit-soft">{html.escape(report.facts)}</span>'
        f'<span class="kit-soft">{html.escape(judged(problem, part, report))}</span></div>'
    )
    if report.all_stubs:
        names = part or ", ".join(problem.parts)
        text = f"{names}: still the stub. Write it in the answer cell above, run that cell, then judge again."
        return f'<div role="status">{head}<p class="kit-soft">{html.escape(text)}</p></div>'
    tests = "".join(_test(t) for t in report.tests)
    failures = report.failures
    details = "".join(_failure(t) for t in failures[:SHOWN])
    if len(failures) > SHOWN:
        rest = "".join(_failure(t) for t in failures[SHOWN:])
        details += f"<details><summary>{_more(len(failures) - SHOWN)}</summary>{rest}</details>"
    if not report.accepted:
        details += (
            '<p class="kit-soft">The same inputs again, in a terminal: '
            f"<code>{html.escape(again(problem, part, report))}</code></p>"
        )
    return f'<div role="status">{head}<ul class="kit-tests">{tests}</ul>{details}</div>'


def _more(count: int) -> str:
    return f"{count} more failed test{'s' * (count > 1)}"


def last_time(problem: Problem, part: str | None) -> str:
    """What the judge said last of this part, or of every part, for a panel that has not judged; else ''."""
    kept = progress.read()
    found = [progress.last(problem, p, kept) for p in ([part] if part else problem.parts)]
    if not all(found):
        return ""
    accepted, current = all(p["accepted"] for p in found), all(p["current"] for p in found)
    kind = "none" if not current else "good" if accepted else "bad"
    verdict = f"{'✓ ' * accepted}accepted" if accepted else "✗ not accepted"
    passed, total = sum(p["passed"] for p in found), sum(p["total"] for p in found)
    facts = f"{passed} of {total} tests, judged {when(max(p['at'] for p in found))}"
    facts += "" if current else "; the file has changed since: judge again"
    badge = f'<span class="kit-badge {kind}">{verdict}</span><span class="kit-soft">{facts}</span>'
    return f'<div class="kit-box"><div class="kit-head">{badge}</div></div>'


def when(seconds: float) -> str:
    """A moment as people say it: the time, with the date when that is not today."""
    moment = time.localtime(seconds)
    today = moment[:3] == time.localtime()[:3]
    return time.strftime("at %H:%M:%S" if today else "on %Y-%m-%d at %H:%M:%S", moment)


def _test(test: dict) -> str:
    outcome = str(test.get("outcome", ""))
    kind, mark = _MARK.get(outcome, ("bad", "✗"))
    word = "" if outcome == PASSED else f'<span class="outcome">{html.escape(outcome)}</span>'
    return (
        f'<li class="{kind}"><span class="mark" aria-label="{html.escape(outcome)}">{mark}</span>'
        f"<span>{html.escape(rule(test))}</span>{word}</li>"
    )


def _failure(test: dict) -> str:
    items = ""
    for label, text, kind in rows(test):
        shown = f"<pre>{html.escape(text)}</pre>" if kind == "code" else html.escape(text)
        items += f'<dt>{html.escape(label)}</dt><dd class="{kind}">{shown}</dd>'
    title = f"{html.escape(str(test.get('part', '')))}: {html.escape(rule(test))}"
    return f'<div class="kit-fail"><div class="kit-title">{title}</div><dl>{items}</dl></div>'


def as_text(problem: Problem, part: str | None, report: Report) -> str:
    """The same for a terminal or a front end without widgets."""
    if report.error:
        return report.error
    lines = [f"{report.verdict}  {report.facts}", *filter(None, [judged(problem, part, report)])]
    lines += [f"  {_MARK.get(t.get('outcome'), ('', '✗'))[1]} {rule(t)}" for t in report.tests]
    for test in report.failures[:SHOWN]:
        lines += ["", f"{test.get('part')}: {rule(test)}"]
        lines += [f"  {label}: {text}" for label, text, _ in rows(test)]
    return "\n".join(lines)
