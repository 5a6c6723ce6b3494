"""The source notebooks, built from the chapters: `make notebooks`, or `python -m kit.build [--check]`."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

import nbformat

from grader.problems import ROOT
from grader.workspace import write
from kit.chapter import ChapterError, build

COURSE = ROOT / "course"


def built(course: Path = COURSE) -> dict[Path, bytes]:
    """Every source notebook as it should be: path -> content. Raises ChapterError."""
    return {
        course / "source" / chapter.stem / f"{chapter.stem}.ipynb": as_bytes(build(chapter))
        for chapter in sorted((course / "chapters").glob("[0-9][0-9]_*.md"))
    }


def as_bytes(notebook: nbformat.NotebookNode) -> bytes:
    """A notebook as it is kept on disk: sorted keys, one space of indent, a last newline."""
    nbformat.validate(notebook)
    return (nbformat.writes(notebook, indent=1, sort_keys=True, ensure_ascii=False).rstrip() + "\n").encode()


def main(argv: list[str] | None = None, course: Path = COURSE) -> int:
    parser = argparse.ArgumentParser(prog="python -m kit.build", description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="change nothing; fail when a notebook is out of step"
    )
    args = parser.parse_args(argv)
    try:
        wanted = built(course)
    except ChapterError as e:
        print(f"build: {e}", file=sys.stderr)
        return 1
    there = {p for p in (course / "source").glob("*/*.ipynb") if ".ipynb_checkpoints" not in p.parts}
    stale = [p for p, data in wanted.items() if p not in there or p.read_bytes() != data]
    extra = sorted(there - wanted.keys())
    if args.check:
        for path in [*stale, *extra]:
            print(f"{path.relative_to(course.parent)} is out of step with its chapter.", file=sys.stderr)
        if stale or extra:
            print("build: run `make notebooks` and commit what it changes.", file=sys.stderr)
        return 1 if stale or extra else 0
    for path in stale:
        write(path, wanted[path])
        print(f"built {path.relative_to(course.parent)}")
    for path in extra:
        shutil.rmtree(path.parent)
        print(f"removed {path.parent.relative_to(course.parent)}: it has no chapter")
    if not stale and not extra:
        print("The source notebooks are in step with the chapters.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
