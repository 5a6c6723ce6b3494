"""What a person reads in the terminal. Every byte that came from the learner's code is escaped first."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from grader.problems import Problem
from grader.runner import Judgement, Result

MARK = {"passed": ("✓", "green"), "not run": ("·", "dim")}
SHOWN_FAILURES = 3
HAN = "\u3000-\u303f\u4e00-\u9fff\uff00-\uffef"


def printable(text: str, most: int = 4000) -> str:
    """Text from the learner's code: no control or format characters (Unicode's C categories), no endless lines."""
    text = "".join(c if c in "\t\n" or unicodedata.category(c)[0] != "C" else f"\\x{ord(c):02x}" for c in text)
    if len(text) > most:
        text = f"{text[: most // 2]}\n[... {len(text) - most} characters ...]\n{text[-most // 2 :]}"
    return text


def print_judgement(console: Console, judgement: Judgement, how: str) -> None:
    """The whole report. `how` is the command as it was typed, for the line that says what to do next."""
    problem = judgement.problem
    console.print(Text.assemble((f"{problem.id} {problem.title}", "bold"), f"  {problem.title_zh}"))
    console.print(Text(f"{judgement.shown} · seed {judgement.seed} · {' + '.join(judgement.sandbox)}", "dim"))
    for note in judgement.notes:
        console.print(Text(note, "yellow"))
    console.print()

    table = Table.grid(padding=(0, 2))
    parts: dict[str, list[Result]] = {}
    for test in judgement.tests:
        parts.setdefault(test.part, []).append(test)
    for part, tests in parts.items():
        passed = sum(t.outcome == "passed" for t in tests)
        marks = Text()
        for t in tests:
            marks.append(*MARK.get(t.outcome, ("✗", "red")))
        table.add_row(f"  {part}", f"{passed}/{len(tests)}", marks)
    console.print(table)

    failures = [t for t in judgement.tests if t.outcome not in ("passed", "not run")]
    for test in _worth_showing([t for t in failures if not t.stub and not t.missing]):
        console.print()
        console.print(_failure(test))
    for group, sentence in (
        ([t.part for t in failures if t.stub], "not written yet (still the stub)"),
        ([t.part for t in failures if t.missing], f"not defined in {judgement.shown}"),
    ):
        if group:
            console.print()
            console.print(Text.assemble(("✗ ", "red"), (", ".join(dict.fromkeys(group)), "bold"), f": {sentence}"))
    console.print()
    colour = "green" if judgement.accepted else "red"
    counts = f"{judgement.passed} of {len(judgement.tests)} tests, {judgement.seconds:.1f} s"
    console.print(Text.assemble((judgement.verdict, f"bold {colour}"), f"  {counts}"))
    for line in _next_steps(judgement, how):  # a command stands on a line of its own, to be copied
        console.print(Text(line, "dim"), soft_wrap=True)


def _worth_showing(failures: list[Result]) -> Iterable[Result]:
    """The first failure of each part, and each reason once: sixteen times the same import error helps nobody."""
    seen_parts: set[str] = set()
    seen_reasons: set[str] = set()
    shown = 0
    for test in failures:
        reason = test.why if test.outcome in ("import error", "crashed") else ""
        if test.part in seen_parts or (reason and reason in seen_reasons):
            continue
        if test.why.startswith("not run:"):
            continue
        seen_parts.add(test.part)
        seen_reasons.add(reason)
        shown += 1
        if shown <= SHOWN_FAILURES:
            yield test


def _failure(test: Result) -> Group:
    items: list = [Text.assemble(("✗ ", "red"), (f"{test.part}: ", "bold"), test.rule or test.name)]
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    rows = [
        ("input", test.call),
        ("expected", test.expected),
        ("got", test.got),
        ("", "" if test.got else test.why),
        ("why", test.why if test.got and "value differs" not in test.why else ""),
        ("likely mistake", test.diagnosis),
        ("note", test.share),
    ]
    for name, value in rows:
        if value:
            style = "bold yellow" if name == "likely mistake" else ""
            grid.add_row(name or "", Text(printable(value, 1500), style))
    items.append(Padding(grid, (0, 0, 0, 2)))
    if test.trace:
        items.append(Padding(Text(printable(test.trace, 2000), "red"), (0, 0, 0, 4)))
    if test.printed.strip():
        items.append(Padding(Text("your code printed:", "dim"), (0, 0, 0, 2)))
        items.append(Padding(Text(printable(test.printed, 800).rstrip(), "dim"), (0, 0, 0, 4)))
    return Group(*items)


def _next_steps(judgement: Judgement, how: str) -> list[str]:
    problem = judgement.problem
    command = how.split(f" {problem.id}")[0]
    if judgement.accepted:
        return ["The hidden tests decide:", f"  {how.replace(' --examples', '')}"] if judgement.examples else []
    if all(t.stub for t in judgement.tests):
        where = f"{judgement.shown} or in the notebook of chapter {problem.chapter}"
        return [f"Write the functions in {where}, then judge again. The statement:", f"  {command} show {problem.id}"]
    return ["A hint, and the same inputs again:", f"  {command} hint {problem.id}", f"  {how} --seed {judgement.seed}"]


def print_statement(console: Console, problem: Problem, chinese: bool) -> None:
    from rich.markdown import Markdown  # slow to import, and a judgement has no use for it

    console.print(Text(f"{problem.id} {problem.title}  {problem.title_zh}", "bold"))
    facts = [f"chapter {problem.chapter}", problem.level, f"about {problem.minutes} minutes"]
    facts += [f"needs {', '.join(problem.needs)}"] if problem.needs else []
    console.print(Text(" · ".join(facts), "dim"))
    console.print()
    text = problem.section("题目" if chinese else "Statement")
    # rich drops the dot behind a list's numbers, and reads a line end inside Chinese text as a space
    text = re.sub(r"^(\d+)\. ", r"- **\1.** ", text, flags=re.M)
    text = re.sub(rf"(?<=[{HAN}])\n(?=[{HAN}`*])|(?<=[`*])\n(?=[{HAN}])", "", text)
    console.print(Markdown(text))


def print_list(console: Console, rows: list[dict]) -> None:
    table = Table.grid(padding=(0, 2))
    chapter = None
    for row in rows:
        if row["chapter"] != chapter:
            chapter = row["chapter"]
            table.add_row("", Text(f"chapter {chapter}", "dim"))
        title = Text.assemble(row["title"], ("\n" + row["title_zh"], "dim"))
        colour = {"accepted": "green", "started": "yellow"}.get(row["status"], "dim")
        facts = f"{row['level']}, {row['minutes']} min"
        table.add_row(Text(str(row["id"]), "bold"), title, facts, Text(row["status"], colour))
    console.print(table)
