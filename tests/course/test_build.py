"""Chapters to source notebooks: deterministic, in step, right for nbgrader, and clear about mistakes."""

import shutil
from pathlib import Path

import nbformat
import pytest
from nbgrader.nbgraderformat import MetadataValidator

from kit import build as builder
from kit.chapter import ChapterError, build, waiting_names
from kit.directives import _solved, _solved_class

ROOT = Path(__file__).resolve().parents[2]
HEAD = "---\nkernelspec:\n  name: python3\n  display_name: Python 3\n  language: python\n---\n\n# Title\n\n"


@pytest.fixture
def chapter(tmp_path):
    def write(body, name="07_tiny.md"):
        path = tmp_path / "chapters" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(HEAD + body, encoding="utf-8")
        return path

    return write


TINY = """\
Some text.

```{setup}
```

```{statement} 133
```

```{grow} 133 pad_to
```

```{judge} 133 pad_to
```

## Next

```{code-cell} ipython3
:tags: [hide-input]

print(1)
```

A paragraph.

+++

Another cell.

```{code-cell} ipython3
---
tags: [other]
---
x = 1
```

```{written} 7 why 3
Why is that so?

---
In two sentences.
```
"""


def test_every_directive_becomes_its_cells(chapter):
    nb = build(chapter(TINY))
    kinds = [c.cell_type[0] for c in nb.cells]
    assert "".join(kinds) == "mcmccmcmmcmm"
    by_id = {c.id: c for c in nb.cells}
    assert "kit.start()" in nb.cells[1].source
    assert "Problem 133" in nb.cells[2].source and "<details>" in nb.cells[2].source
    answer, judge = by_id["answer-133-pad_to"], by_id["judge-133-pad_to"]
    assert answer.source.startswith("%%grow mini_llm/buckets.py\ndef pad_to(")
    assert answer.source.count("### BEGIN SOLUTION") == answer.source.count("### END SOLUTION") == 1
    assert judge.source == 'kit.judge(133, "pad_to")'
    assert by_id["prompt-7-why"].source.endswith("---\nIn two sentences.")

    def about(grade_id, kind, grade, solution, locked, **points):
        roles = {"grade": grade, "solution": solution, "locked": locked, "task": False, **points}
        return roles | {"cell_type": kind, "grade_id": grade_id, "schema_version": 3}

    for cell, wanted in [
        (answer, about("answer-133-pad_to", "code", False, True, False)),
        (judge, about("judge-133-pad_to", "code", True, False, True, points=2)),
        (by_id["prompt-7-why"], about("prompt-7-why", "markdown", False, False, True)),
        (by_id["written-7-why"], about("written-7-why", "markdown", True, True, False, points=3)),
    ]:
        assert cell.metadata == {"nbgrader": wanted}
    assert nb.metadata.kernelspec.name == "python3"
    assert all(not c.get("outputs") and c.get("execution_count") is None for c in nb.cells)
    MetadataValidator().validate_nb(nb)


def test_cell_options_and_breaks_are_kept(chapter):
    nb = build(chapter(TINY))
    sources = {c.source: c for c in nb.cells}
    assert sources["print(1)"].metadata == {"tags": ["hide-input"]}
    assert sources["x = 1"].metadata == {"tags": ["other"]}
    assert "A paragraph." in sources and "Another cell." in sources


def test_the_same_text_gives_the_same_bytes_and_ids_hold_still(chapter):
    one = build(chapter(TINY))
    assert builder.as_bytes(one) == builder.as_bytes(build(chapter(TINY)))
    two = build(chapter(TINY.replace("Some text.", "Some text.\n\n+++\n\nA new cell above all others.")))
    ids = {c.source: c.id for c in two.cells}
    same = [c for c in one.cells if ids.get(c.source) == c.id]
    assert len(same) == len(one.cells) - 1 and len(set(ids.values())) == len(two.cells)


@pytest.mark.parametrize(
    ("body", "line", "says"),
    [
        ("```{grwo} 133 pad_to\n```\n", 10, "there is no cell {grwo}"),
        ("\n```{grow} 999 x\n```\n", 11, "there is no problem 999"),
        ("```{grow} 133 pad\n```\n", 10, "problem 133 has no part 'pad'; it has pad_to"),
        ("```{grow} 133\n```\n", 10, "takes PROBLEM PART after its name"),
        ("```{judge} 133 pad_to\nx\n```\n", 10, "has no body"),
        ("```{written} 7 why three\nWhy?\n```\n", 10, "points must be a whole number"),
        ("```{written} 7 why 3\n```\n", 10, "the question is missing"),
        ("- a list\n\n  ```{setup}\n  ```\n", 12, "left margin"),
        ("```{setup}\n", 10, "is not closed"),
        ("```{setup}\n```\n```{code-cell}\nx = = 1\n```\n", 12, "line 1 of this cell is no valid Python"),
        (
            "```{grow} 133 pad_to\n```\n\n```{grow} 133 pad_to\n```\n",
            13,
            "already is a cell `answer-133-pad_to`",
        ),
    ],
)
def test_a_mistake_is_one_sentence_with_file_and_line(chapter, body, line, says):
    with pytest.raises(ChapterError) as caught:
        build(chapter(body))
    message = str(caught.value)
    assert message.startswith(f"07_tiny.md, line {line}: ") and says in message and "\n" not in message


def test_cells_that_wait_for_the_learner_do_not_stop_run_all(chapter):
    cells = [
        ("from mini_llm import buckets", False),
        ("sizes = buckets.default_capture_sizes()", True),
        ("for s in sizes:\n    pass", True),
        ("buckets.padding_stats({}, [1])", True),  # a base function that calls what grows
        ("sizes = [1]\nprint(sizes)", False),  # no longer the one that waits
        ("print(sizes)", False),
        ("def mine():\n    return buckets.pad_to(1, [1])", False),  # defining it is harmless
        ("mine()", True),
        ("%timeit 1\nimport math", False),
    ]
    text = "".join(f"```{{code-cell}} ipython3\n{source}\n```\n\n" for source, _ in cells)
    tagged = ["raises-exception" in c.metadata.get("tags", []) for c in build(chapter(text)).cells[1:]]
    assert tagged == [waits for _, waits in cells]
    assert "pad_to" in waiting_names() and "sglang_decode_sizes" not in waiting_names()


def test_a_solved_function_keeps_its_body_between_the_markers():
    import ast

    for source, body in [
        ("@deco\ndef f(a,\n      b):\n    '''Doc.'''\n    # why\n    return a\n", "    # why\n    return a"),
        ("def f(a): return a\n", "    return a"),
        ("def f(a):  # note\n    return a\n", "    return a"),
    ]:
        text = _solved(source, ast.parse(source).body[0])
        assert f"    ### BEGIN SOLUTION\n{body}\n    ### END SOLUTION" in text
        ast.parse(text)
    source = (
        "class R(B):\n    '''Doc.'''\n\n    n: int = 1\n\n    def go(self):\n        return self._a()\n\n"
        "    @property\n    def _a(self):\n        return 1\n\n"
        "    def end(self):\n        '''End.'''\n        return 2\n"
    )
    text = _solved_class(source, ast.parse(source).body[0])
    ast.parse(text)
    assert text.count("BEGIN") == text.count("### END SOLUTION") == 2
    start, end = text.index("### BEGIN"), text.index("### END")
    assert start < text.index("@property") < end


def test_the_committed_notebooks_are_in_step_with_the_chapters():
    """`make notebooks` was run after the last change of a chapter, a problem or the reference."""
    assert builder.main(["--check"]) == 0


def test_check_build_and_removal(tmp_path, capsys):
    (tmp_path / "chapters").mkdir()
    (tmp_path / "chapters" / "07_tiny.md").write_text(HEAD + TINY)
    assert builder.main(["--check"], course=tmp_path) == 1
    assert "make notebooks" in capsys.readouterr().err
    assert builder.main([], course=tmp_path) == 0
    made = tmp_path / "source" / "07_tiny" / "07_tiny.ipynb"
    nbformat.validate(nbformat.read(made, as_version=4))
    assert builder.main(["--check"], course=tmp_path) == 0
    shutil.move(tmp_path / "chapters" / "07_tiny.md", tmp_path / "07_tiny.md")
    assert builder.main(["--check"], course=tmp_path) == 1
    assert builder.main([], course=tmp_path) == 0 and not made.exists()
    (tmp_path / "chapters" / "08_bad.md").write_text(HEAD + "```{x}\n```\n")
    assert builder.main([], course=tmp_path) == 1
    assert "08_bad.md, line 10" in capsys.readouterr().err
