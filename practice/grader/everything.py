"""`judge.py all`: every problem of the workspace, but none that is accepted and unchanged."""

from __future__ import annotations

import json
import sys

from grader import once, progress
from grader.problems import Problem, load_all
from grader.terminal import Text, console
from grader.usage import ACCEPTED, NOT_ACCEPTED, Parser, make_workspace, typed, whole_number


def all_(argv: list[str], prog: str) -> int:
    parser = Parser(
        prog,
        "all",
        "Judges what you have written for every problem. A problem that is accepted and has not changed since is not "
        "run again, and one that still is the stub is not run at all. Exit status 0 when all are accepted.",
    )
    parser.add_argument("--again", action="store_true", help="also what is accepted and unchanged")
    parser.add_argument("--seed", type=whole_number, metavar="S", help="the same inputs again")
    parser.takes_sandbox()
    parser.takes_json()
    args = parser.parse_args(argv)
    make_workspace(stderr=True)
    found, out = [], console()
    for problem in sorted(load_all().values(), key=lambda p: (p.chapter, p.id)):
        row = _one(problem, args)
        found.append(row)
        if not args.json:
            _print(out, problem, row)
    accepted = sum(r["verdict"] == "accepted" for r in found)
    if args.json:
        print(json.dumps({"problems": found, "accepted": accepted, "total": len(found)}, ensure_ascii=False))
    else:
        out.print()
        out.print(Text(f"{accepted} of {len(found)} problems accepted", "bold"))
        for row in found:
            if row["judged"] and row["verdict"] != "accepted":
                out.print(Text(f"  python {typed(prog)} {row['problem']} --seed {row['seed']}", "dim"), soft_wrap=True)
    return ACCEPTED if accepted == len(found) else NOT_ACCEPTED


def _one(problem: Problem, args) -> dict:
    row = {"problem": problem.id, "title": problem.title, "title_zh": problem.title_zh, "judged": False}
    if progress.status(problem) == "accepted" and not args.again:
        return row | {"verdict": "accepted"}
    if not progress.is_written(problem):
        return row | {"verdict": "not written"}
    if problem.lacks:
        return row | {"verdict": "not judged"}
    args.problem, args.file, args.examples, args.part, args.package = problem.id, None, False, None, False
    what = once.asked(args, problem)
    if args.json or not sys.stderr.isatty():
        judgement = once.judge(what)
    else:
        with console(stderr=True).status(f"{problem.id} {problem.title}"):
            judgement = once.judge(what)
    kept = ("verdict", "passed", "total", "score", "seed", "seconds", "sandbox", "diagnosis")
    said = judgement.as_json()
    return row | {"judged": True} | {key: said[key] for key in kept}


def _print(out, problem: Problem, row: dict) -> None:
    sign, colour = ("✓", "green") if row["verdict"] == "accepted" else ("✗", "red") if row["judged"] else ("·", "dim")
    about = row["verdict"] if row["judged"] or row["verdict"] != "accepted" else "accepted, unchanged"
    about += f": {problem.lacks}" if about == "not judged" else ""
    if row["judged"]:
        about += f", {row['passed']} of {row['total']} tests, {row['seconds']:.1f} s"
    out.print(Text.assemble((f"{sign} ", colour), (f"{problem.id} {problem.title}", "bold")))
    out.print(Text(f"      {problem.title_zh}", "dim"))
    out.print(Text(f"      {about}", colour))
