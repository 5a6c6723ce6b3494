"""The commands around a judgement: list, show, start, hint, solution, progress."""

from __future__ import annotations

import contextlib
import json

from grader import problems, progress, workspace
from grader.growth import extract, text_of
from grader.problems import ROOT, Problem
from grader.stubs import stub_module
from grader.terminal import Text, console, markdown
from grader.usage import (
    ACCEPTED,
    NOT_ACCEPTED,
    Parser,
    UsageError,
    chinese,
    confirm,
    make_workspace,
    typed,
    whole_number,
)


def list_(argv: list[str], prog: str) -> int:
    parser = Parser(prog, "list", "The problems, in the order of the chapters, and where you are with each.")
    parser.takes_json()
    args = parser.parse_args(argv)
    rows = progress.rows()
    if args.json:
        print(json.dumps({"problems": rows}, ensure_ascii=False))
    else:
        from grader.report import print_list

        print_list(console(), rows)
    return ACCEPTED


def progress_(argv: list[str], prog: str) -> int:
    parser = Parser(
        prog,
        "progress",
        "What you have done, chapter by chapter: accepted, started, or changed since it was accepted. "
        "It is kept in your workspace; judging a problem there brings it up to date.",
    )
    parser.takes_json()
    args = parser.parse_args(argv)
    found = progress.summary()
    if args.json:
        print(json.dumps(found, ensure_ascii=False))
    else:
        from grader.report import print_progress

        print_progress(console(), found, f"python {typed(prog)}")
    return ACCEPTED


def show(argv: list[str], prog: str) -> int:
    parser = Parser(prog, "show", "The statement of a problem, with its chapter, its level and how long it takes.")
    parser.takes_problem()
    parser.takes_zh()
    parser.takes_json()
    args = parser.parse_args(argv)
    problem = parser.problem_of(args)
    if args.json:
        row = progress.row(problem, progress.read())
        statements = {"statement": problem.section("Statement"), "statement_zh": problem.section("题目")}
        print(json.dumps(row | statements, ensure_ascii=False))
    else:
        from grader.report import print_statement

        print_statement(console(), problem, chinese(args.zh))
    return ACCEPTED


def start(argv: list[str], prog: str) -> int:
    parser = Parser(prog, "start", "Where to write a problem's functions, and with which of them to begin.")
    parser.takes_problem()
    problem = parser.problem_of(parser.parse_args(argv))
    make_workspace()
    from grader.report import title_of

    command = f"python {typed(prog)}"
    file = workspace.shown(workspace.learner_file(problem))
    first = next(iter(problem.parts))
    alone = f" --part {first}" if len(problem.parts) > 1 else ""
    out = console()
    out.print(title_of(out, problem))
    if problem.lacks:
        out.print(Text(f"It cannot be judged yet: {problem.lacks}.", "yellow"))
    out.print(f"Write {', '.join(problem.names)} in {file},")
    out.print(f"or in the notebook of chapter {problem.chapter} (make learn). The statement:")
    out.print(f"  {command} show {problem.id}", soft_wrap=True)
    out.print(f"Begin with {first}, and judge it{' alone' if alone else ''}:")
    out.print(f"  {command} {problem.id}{alone}", soft_wrap=True)
    out.print("Or have it judged at every save:")
    out.print(f"  {command} watch {problem.id}{alone}", soft_wrap=True)
    return ACCEPTED


def hint(argv: list[str], prog: str) -> int:
    parser = Parser(
        prog,
        "hint",
        "The next hint of a problem: each call goes one step on. With K, that hint. Your workspace remembers how far "
        "you have read.",
    )
    parser.takes_problem()
    parser.add_argument("which", nargs="?", type=whole_number, metavar="K", help="hint K, from 1")
    parser.takes_zh()
    parser.takes_json()
    args = parser.parse_args(argv)
    problem = parser.problem_of(args)
    hints, zh = problem.hints, problem.hints_zh
    if not hints:
        raise UsageError(f"problem {problem.id} has no hints")
    if args.which is not None and not 1 <= args.which <= len(hints):
        raise UsageError(f"problem {problem.id} has hints 1 to {len(hints)}")
    with contextlib.suppress(UsageError):  # a hint needs none
        make_workspace(stderr=True)
    which = next_hint(problem) if args.which is None else args.which
    keep_hint(problem, which)
    translated = zh[which - 1] if len(zh) == len(hints) else ""
    if args.json:
        row = {"problem": problem.id, "hint": which, "hints": len(hints), "text": hints[which - 1]}
        print(json.dumps(row | {"text_zh": translated or None}, ensure_ascii=False))
    else:
        print_hint(console(), problem, which, chinese(args.zh))
    return ACCEPTED


def next_hint(problem: Problem) -> int:
    """The first hint that was not read yet, or the last."""
    return min(_read_so_far(problem) + 1, len(problem.hints))


def _read_so_far(problem: Problem) -> int:
    seen = progress.read().get(str(problem.id), {}).get("hints", 0)
    return max(seen, 0) if isinstance(seen, int) else 0


def keep_hint(problem: Problem, which: int) -> None:
    """Remembers that hint `which` was read; a workspace that may not be written keeps nobody from reading it."""
    with contextlib.suppress(OSError):
        progress.remember(problem, hints=max(which, _read_so_far(problem)))


def print_hint(out, problem: Problem, which: int, in_chinese: bool) -> None:
    hints = problem.hints
    translated = problem.hints_zh if in_chinese and len(problem.hints_zh) == len(hints) else None
    out.print(f"提示 {which}（共 {len(hints)} 条）" if translated else f"Hint {which} of {len(hints)}", style="bold")
    out.print(markdown((translated or hints)[which - 1]))
    if in_chinese and not translated:
        out.print("（这道题还没有中文提示。）", style="dim")
    if which == len(hints):
        out.print("这是最后一条提示。" if translated else "That was the last hint.", style="dim")


def solution(argv: list[str], prog: str) -> int:
    parser = Parser(
        prog,
        "solution",
        "The course's own code for a problem, and why it is right. Asks first while yours is not accepted.",
    )
    parser.takes_problem()
    parser.takes_zh()
    parser.add_argument("--yes", action="store_true", help="show it without asking")
    args = parser.parse_args(argv)
    problem = parser.problem_of(args)
    if progress.status(problem) != "accepted":
        question = f"{problem.id} is not accepted yet, and hints give away less. Show the solution?"
        if not confirm(question, args.yes):
            print("Not shown. The next hint: " + f"python {typed(prog)} hint {problem.id}")
            return NOT_ACCEPTED
    from rich.syntax import Syntax

    out = console()
    out.print(Text(f"mini_llm/{problem.module}", "bold"))
    code = Syntax("", "python", theme="ansi_dark", background_color="default").highlight(reference_of(problem))
    code.rstrip()
    out.print()
    out.print(code, soft_wrap=True)  # to be copied: no line of it is broken
    explanation = (chinese(args.zh) and problem.section("讲解")) or problem.section("Explanation")
    if explanation:
        out.print()
        out.print(markdown(explanation))
    return ACCEPTED


def reference_of(problem: Problem) -> str:
    """The reference's source of what a problem grows, with the helpers and constants that only this uses."""
    source = (ROOT / "mini_llm" / problem.module).read_text(encoding="utf-8")
    growing = {name: chapter for name, (_, chapter) in problems.growing()[problem.module].items()}
    return text_of(*extract(source, problem.names, growing, stub_module(source, growing)))
