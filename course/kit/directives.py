"""The special cells of a chapter, from one line of its text each: setup, statement, grow, judge, written.

Answer, test and written cells carry nbgrader's metadata (schema 3, no other keys). The answers are taken
from the reference package, so a starter and its solution cannot drift apart.
"""

from __future__ import annotations

import ast

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

from grader import problems
from grader.cells import handed_out
from grader.growth import block, extract
from grader.pieces import FUNCTIONS, first_line, is_string
from grader.problems import ROOT, Problem
from grader.stubs import head_of

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"

SETUP = """\
# Run this cell first, and again after every restart of the kernel: it brings `%%grow`.
# In an answer cell, `%%grow` must be the first line.
import os
import sys
from pathlib import Path

# Finds the course: above this folder, where MINI_LLM_COURSE says, or beside the environment.
places = [Path.cwd(), *Path.cwd().parents, os.environ.get("MINI_LLM_COURSE", "."), Path(sys.prefix).parent]
course = next((Path(p) for p in places if Path(p, "course", "kit").is_dir()), None)
if course:
    sys.path[:0] = [str(course / "course"), str(course / "practice")]
    import kit

    kit.start()
else:
    print("The course is not found: run `make learn` in your copy of it, or set MINI_LLM_COURSE to that folder.")
"""


def expand(name: str, args: tuple[str, ...], body: str) -> list[NotebookNode]:
    """The cells of a directive. Raises ValueError or ProblemError with one sentence."""
    wanted, make = DIRECTIVES[name]
    if len(args) != len(wanted):
        raise ValueError(f"it takes {' '.join(wanted) or 'nothing'} after its name.")
    if body and make is not _written:
        raise ValueError("it has no body; close it on the next line.")
    return make(*args, body) if make is _written else make(*args)


def _setup() -> list[NotebookNode]:
    return [new_code_cell(SETUP.rstrip())]


def _statement(which: str) -> list[NotebookNode]:
    problem = problems.get(which)
    about = f"**Problem {problem.id} · {problem.title}** ({problem.level}, about {problem.minutes} minutes)"
    parts = [about, problem.section("Statement")]
    if chinese := problem.section("题目"):
        parts += [f"<details>\n<summary>题目：{problem.title_zh}</summary>", chinese, "</details>"]
    return [new_markdown_cell("\n\n".join(parts))]


def _grow(which: str, part: str) -> list[NotebookNode]:
    problem = _with_part(which, part)
    about = _graded(f"answer-{problem.id}-{part}", "code", solution=True)
    return [new_code_cell(answer_source(problem, part), metadata=about)]


def _judge(which: str, part: str) -> list[NotebookNode]:
    problem = _with_part(which, part)
    points = problem.parts[part].points
    about = _graded(f"judge-{problem.id}-{part}", "code", grade=True, locked=True, points=points)
    return [new_code_cell(f'kit.judge({problem.id}, "{part}")', metadata=about)]


def _written(chapter: str, name: str, points: str, prompt: str) -> list[NotebookNode]:
    if not prompt.strip():
        raise ValueError("the question is missing: it is the body of the block.")
    try:
        worth = int(points)
    except ValueError:
        raise ValueError(f"the points must be a whole number, not {points!r}.") from None
    asked = _graded(f"prompt-{chapter}-{name}", "markdown", locked=True)
    answer = _graded(f"written-{chapter}-{name}", "markdown", grade=True, solution=True, points=worth)
    return [
        new_markdown_cell(prompt.strip(), metadata=asked),
        new_markdown_cell("*Graded by hand: the student's answer stands here.*", metadata=answer),
    ]


DIRECTIVES = {
    "setup": ((), _setup),
    "statement": (("PROBLEM",), _statement),
    "grow": (("PROBLEM", "PART"), _grow),
    "judge": (("PROBLEM", "PART"), _judge),
    "written": (("CHAPTER", "NAME", "POINTS"), _written),
}


def _with_part(which: str, part: str) -> Problem:
    problem = problems.get(which)
    if part not in problem.parts:
        raise ValueError(f"problem {problem.id} has no part {part!r}; it has {', '.join(problem.parts)}.")
    return problem


def _graded(grade_id, cell_type, *, grade=False, solution=False, locked=False, points=None) -> dict:
    about = {
        "grade": grade,
        "solution": solution,
        "locked": locked,
        "task": False,
        "grade_id": grade_id,
        "schema_version": 3,
        "cell_type": cell_type,
    }
    if points is not None:
        about["points"] = points
    return {"nbgrader": about}


def answer_source(problem: Problem, part: str) -> str:
    """The answer cell with the reference's solution between nbgrader's markers, helpers included."""
    source = (ROOT / "mini_llm" / problem.module).read_text(encoding="utf-8")
    imports, pieces = extract(source, [part], problem.names, handed_out(problem.module))
    main = next(p for p in pieces if part in p.names)
    below = [*(["\n".join(imports)] if imports else []), *([block(p.text for p in pieces if p is not main)])]
    node = main.nodes[0]
    text = _solved(source, node) if isinstance(node, FUNCTIONS) else _solved_class(source, node)
    for extra in filter(None, below):
        # Still between the markers: the release holds one stub line in place of it all.
        text = text.removesuffix(END).rstrip() + f"\n\n\n{extra}\n{END}"
    return f"%%grow mini_llm/{problem.module}\n{text}"


def _solved(source: str, node: ast.FunctionDef) -> str:
    """A function, its body between the markers."""
    indent = " " * (node.col_offset + 4)
    lines, head = source.split("\n"), head_of(source, node)
    start = first_line(node) - 1 + head.count("\n") + 1
    rest = lines[start - 1][len(head.split("\n")[-1]) :].strip()
    if is_string(node.body[0]):
        head += "\n" + indent + ast.get_source_segment(source, node.body[0])
        start, rest = node.body[0].end_lineno, ""
    body = [indent + rest] if rest and not rest.startswith("#") else []
    return "\n".join([head, indent + BEGIN, *body, *lines[start : node.end_lineno], indent + END])


def _solved_class(source: str, node: ast.ClassDef) -> str:
    """A class: typed fields stay, a method others call has markers of its own, the rest hides in the last."""
    head = head_of(source, node)
    if is_string(node.body[0]):
        head += "\n    " + ast.get_source_segment(source, node.body[0])
    text = [head]
    for member in node.body[is_string(node.body[0]) :]:
        segment = "\n".join(source.split("\n")[first_line(member) - 1 : member.end_lineno])
        if isinstance(member, FUNCTIONS) and (not member.name.startswith("_") or member.name.endswith("__")):
            text.append(_solved(source, member))
        elif isinstance(member, ast.AnnAssign) or not text[-1].endswith(END):
            text.append(segment)
        else:
            text[-1] = text[-1].removesuffix(END).rstrip() + f"\n\n{segment}\n    {END}"
    return "\n\n".join(text)
