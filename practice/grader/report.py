"""What a person reads in the terminal. Every byte that came from the learner's code is escaped first."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table

from grader.compare import is_cut
from grader.problems import Problem
from grader.terminal import Text, markdown
from grader.usage import one_line

if TYPE_CHECKING:  # the runner imports pytest, and `list` has no use for it
    from grader.runner import Judgement, Result

MARK = {"passed": ("✓", "green"), "not run": ("·", "dim")}
SHOWN_FAILURES = 3
MOST_MARKS = 8  # combining marks on one letter; languages need up to about four
STATE = {"accepted": ("✓", "green"), "started": ("~", "yellow"), "not started": ("·", "dim")}
ROOMY = 72  # columns from which a table has its facts beside the titles


def printable(text: str, most: int = 4000) -> str:
    """Text from the learner's code: no control or format characters, no line ends of other kinds (Unicode's categories
    C, Zl and Zp), no heaps of combining marks, no endless lines."""
    marks, found = 0, []
    for c in text:
        kind = unicodedata.category(c)
        marks = marks + 1 if kind[0] == "M" else 0
        plain = c in "\t\n" or (kind[0] != "C" and kind not in ("Zl", "Zp") and marks <= MOST_MARKS)
        found.append(c if plain else f"\\x{ord(c):02x}")
    text = "".join(found)
    if len(text) > most:
        text = f"{text[: most // 2]}\n[... {len(text) - most} characters ...]\n{text[-most // 2 :]}"
    return text


def print_judgement(console: Console, judgement: Judgement, how: str, judge: str, compact: bool = False) -> None:
    """The whole report. `how` is the command as it was typed, `judge` the judge's own part of it, for the lines that
    say what to do next.

    `compact` is for a report that comes again at every save: the first failure only, and no next steps.
    """
    problem = judgement.problem
    console.print(title_of(console, problem))
    file = one_line(judgement.shown)
    about = [file, f"seed {judgement.seed}", *([] if compact else [" + ".join(judgement.sandbox)])]
    console.print(Text(" · ".join(about), "dim"), soft_wrap=True)  # a path is copied whole
    for note in judgement.notes:
        console.print(Text(printable(note), "yellow"))
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
    shown = list(_worth_showing([t for t in failures if not t.stub and not t.missing]))
    for test in shown[: 1 if compact else SHOWN_FAILURES]:
        console.print()
        console.print(_failure(test))
    for group, sentence in (
        ([one_line(t.trace.rsplit(": ", 1)[-1], 80) for t in failures if t.stub], "not written yet (still the stub)"),
        ([t.part for t in failures if t.missing], f"not defined in {file}"),
    ):
        if group:
            console.print()
            console.print(Text.assemble(("✗ ", "red"), (", ".join(dict.fromkeys(group)), "bold"), f": {sentence}"))
    left = [t for t in judgement.tests if t.outcome == "not run"]
    if left and not compact:
        console.print()
        console.print(Text(f"· {len(left)} of {len(judgement.tests)} tests {left[0].why}", "dim"))
    console.print()
    colour = "green" if judgement.accepted else "red"
    counts = f"{judgement.passed} of {len(judgement.tests)} tests, {judgement.seconds:.1f} s"
    console.print(Text.assemble((judgement.verdict, f"bold {colour}"), f"  {counts}"))
    if compact:
        return
    for line in _next_steps(judgement, how, judge):  # what is to be copied stands on a line of its own
        console.print(Text(line, "dim"), soft_wrap=line.startswith("  "))


def title_of(console: Console, problem: Problem) -> Text:
    return _both(f"{problem.id} {problem.title}", problem.title_zh, "bold", "", console.width)


def _both(english: str, chinese: str, style: str, other: str, room: int) -> Text:
    """A title in both languages: side by side where there is room."""
    between = "  " if cell_len(f"{english}  {chinese}") <= room else "\n"
    return Text.assemble((english, style), between, (chinese, other))


def _worth_showing(failures: list[Result]) -> Iterable[Result]:
    """The first failure of each part, and each reason once: sixteen times the same import error helps nobody."""
    seen_parts: set[str] = set()
    seen_reasons: set[str] = set()
    for test in failures:
        reason = test.why if test.outcome in ("import error", "crashed") else ""
        if test.part in seen_parts or (reason and reason in seen_reasons):
            continue
        if test.why.startswith("not run:"):
            continue
        seen_parts.add(test.part)
        seen_reasons.add(reason)
        yield test


def _seen_at_once(test: Result) -> bool:
    """Whether `why` says no more than the answer, which is so short that one sees where a value differs."""
    return test.why == "the value differs" or ("the value differs" in test.why and len(test.got) <= 80)


def _failure(test: Result) -> Group:
    head = [(f"{test.part}: ", "bold"), test.rule or test.name]
    if test.outcome == "import error":
        head = [("the file cannot be imported", "bold")]
    items: list = [Text.assemble(("✗ ", "red"), *head)]
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    rows = [
        ("input", test.call),
        ("expected", test.expected),
        ("got", test.got),
        ("got" if test.expected else "why", "" if test.got else test.why),
        ("why", test.why if test.got and not _seen_at_once(test) else ""),
        ("likely mistake", test.diagnosis),
        ("note", test.share),
    ]
    for name, value in rows:
        if value:
            style = "bold yellow" if name == "likely mistake" else ""
            grid.add_row(name, Text(printable(value, 1500), style))
    items.append(Padding(grid, (0, 0, 0, 2)))
    if test.trace:
        items.append(Padding(Text(_without_lost_markers(printable(test.trace, 2000)), "red"), (0, 0, 0, 4)))
    if test.printed.strip():
        items.append(Padding(Text("your code printed:", "dim"), (0, 0, 0, 2)))
        items.append(Padding(Text(printable(test.printed, 800).rstrip(), "dim"), (0, 0, 0, 4)))
    return Group(*items)


def _without_lost_markers(trace: str) -> str:
    """Python marks a place with ^ and ~ under its line: of use only where the line is not folded."""
    lines = trace.split("\n")
    lost = {i for i in range(1, len(lines)) if re.fullmatch(r" *[~^][~^ ]*", lines[i]) and len(lines[i - 1]) > 70}
    return "\n".join(line for i, line in enumerate(lines) if i not in lost)


def _next_steps(judgement: Judgement, how: str, judge: str) -> list[str]:
    problem = judgement.problem
    if judgement.accepted:
        return ["The hidden tests decide:", f"  {how.replace(' --examples', '')}"] if judgement.examples else []
    if all(t.stub for t in judgement.tests):
        return [
            "Write the functions in",
            f"  {one_line(judgement.shown)}",
            f"or in the notebook of chapter {problem.chapter}, then judge again. The statement:",
            f"  {judge} show {problem.id}",
        ]
    lines = ["A hint, and the same inputs again:", f"  {judge} hint {problem.id}", f"  {how} --seed {judgement.seed}"]
    first = judgement.first_failure
    if first.name in judgement.inputs and is_cut(first.call):
        lines += ["The whole input, as a program:", f"  {how} --seed {judgement.seed} --save-input input.py"]
    return lines


def print_statement(console: Console, problem: Problem, chinese: bool) -> None:
    console.print(title_of(console, problem))
    facts = [f"chapter {problem.chapter}", problem.level, f"about {problem.minutes} minutes"]
    facts += [f"needs {', '.join(problem.needs)}"] if problem.needs else []
    console.print(Text(" · ".join(facts), "dim"))
    console.print()
    console.print(markdown(problem.section("题目" if chinese else "Statement")))


def print_list(console: Console, rows: list[dict]) -> None:
    _print_rows(console, rows, lambda row: f"chapter {row['chapter']}")


def print_progress(console: Console, found: dict, command: str) -> None:
    """`found` is `progress.summary()`, `command` the judge as it is typed here."""
    heads = {}
    for chapter in found["chapters"]:
        name = f"chapter {chapter['chapter']}" + (f": {chapter['name']}" if chapter["name"] else "")
        heads[chapter["chapter"]] = f"{name}  {_counts(chapter)}"
    _print_rows(console, [r for c in found["chapters"] for r in c["problems"]], lambda row: heads[row["chapter"]])
    console.print()
    console.print(Text.assemble(("all problems", "bold"), f"  {_counts(found['all'])}"))
    if found["core"]["total"]:
        console.print(Text.assemble(("core path ★", "bold"), f"  {_counts(found['core'])}"))
    if found["next"] is None:
        console.print("Every problem is accepted.")
    else:
        console.print("Next:")
        console.print(f"  {command} start {found['next']}", soft_wrap=True)


def _counts(sums: dict) -> str:
    return f"{sums['accepted']} of {sums['total']} accepted, {sums['minutes_accepted']} of {sums['minutes']} minutes"


def _print_rows(console: Console, rows: list[dict], head) -> None:
    """A table of problems, a line above each chapter; the narrower the terminal, the more stands under a title."""
    roomy, chapter, table = console.width >= ROOMY, None, None
    for row in rows:
        if row["chapter"] != chapter:
            chapter, above = row["chapter"], table
            table = Table.grid(padding=(0, 2 if roomy else 1))
            for _ in range(3):
                table.add_column(overflow="fold")  # rich would shorten a title where its own rules cannot break it
            if above is not None:
                console.print(Padding(above, (0, 0, 0, 1)))
            console.print(Text(head(row), "dim"))
        sign, colour = STATE[row["status"]]
        word = "changed since it was accepted" if row["stale"] else row["status"]
        word += ", from the course by catch-up" * row["given"]
        about = f"{row['level']}, {row['minutes']} min" + ", optional" * row["optional"]
        title = _both(row["title"], row["title_zh"], "", "dim", console.width - 12)
        name = Text.assemble((str(row["id"]), "bold"), (" ★" if row["core"] else "  ", "yellow"))
        title.append(f"\n{about}, ").append(word, colour)
        if row["lacks"]:
            title.append(f"\n{row['lacks']}", "yellow")
        table.add_row(Text(sign, colour), name, title)
    if table is not None:
        console.print(Padding(table, (0, 0, 0, 1)))
