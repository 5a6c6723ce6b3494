"""What the learner has done so far: `.course/progress.json` in the workspace.

A problem is often judged part by part, while the file goes on growing. So each part's verdict is kept with a
mark of the code it speaks of: what the part is and all that it uses in the file. It stands until that changes.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import time
from collections.abc import Mapping

from grader import workspace
from grader.growth import Cell
from grader.pieces import split, used
from grader.problems import ROOT, Problem, load_all

CORE = (130, 131, 132, 133, 135, 137, 142, 143)  # the short way through the course, for one long evening
FIELDS = {"passed": int, "total": int, "mark": str, "at": (int, float)}  # of a part's verdict


def _path():
    return workspace.path() / ".course" / "progress.json"


def read() -> dict:
    """{problem id: {"parts": {part: verdict}, "hints", "given"}}; empty where none can be read.

    A verdict is {"passed", "total", "mark", "at"}; `given` has the marks of the parts that `catch-up` wrote.
    """
    try:
        return _read()
    except (OSError, ValueError):
        return {}


def _read() -> dict:
    """The same; OSError where the file cannot be read, ValueError where it is damaged."""
    try:
        kept = json.loads(_path().read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(kept, dict):
        raise ValueError("no object")
    return {k: v for k, v in kept.items() if isinstance(v, dict)}


def record(problem: Problem, parts: Mapping[str, tuple[int, int]], source: bytes) -> None:
    """Keeps a judgement of the learner's own file `source`: {part: (tests passed, tests run)}.

    Parts that were not judged keep what is known of them.
    """
    now = {
        part: {"passed": passed, "total": total, "mark": mark(source, part), "at": time.time()}
        for part, (passed, total) in parts.items()
    }
    remember(problem, parts=now)


def last(problem: Problem, part: str, kept: dict | None = None, source: bytes | None = None) -> dict | None:
    """The last judgement of a part, and whether it is `accepted` and still `current`; None when there is none."""
    entry = (read() if kept is None else kept).get(str(problem.id), {})
    found = _parts(entry).get(part)
    if found is None or part not in problem.parts:
        return None
    source = _present(problem) if source is None else source
    accepted = found["passed"] == found["total"] >= problem.parts[part].tests
    return found | {"accepted": accepted, "current": found["mark"] == mark(source, part)}


def status(problem: Problem, kept: dict | None = None) -> str:
    """'accepted' (every part, as the file is now), 'started' (a test passed, or something is written), else
    'not started'."""
    return _state(problem, read() if kept is None else kept)[0]


def _state(problem: Problem, kept: dict) -> tuple[str, bool, bool]:
    """The status; whether it was accepted in a part that has changed since; whether `catch-up` wrote it."""
    source = _present(problem)
    parts = [last(problem, part, kept, source) for part in problem.parts]
    written = _written(problem, source)
    marks = kept.get(str(problem.id), {}).get("given")
    given = written and isinstance(marks, dict) and all(marks.get(p) == mark(source, p) for p in problem.parts)
    if all(p and p["accepted"] and p["current"] for p in parts):
        return "accepted", False, given
    if written or any(p and p["passed"] and p["current"] for p in parts):
        return "started", written and any(p and p["accepted"] and not p["current"] for p in parts), given
    return "not started", False, False


def is_written(problem: Problem) -> bool:
    """Whether the workspace's file holds more than stubs of what this problem grows."""
    return _written(problem, _present(problem))


def row(problem: Problem, kept: dict) -> dict:
    """What `list` and `progress` say of a problem."""
    state, stale, given = _state(problem, kept)
    return {
        "id": problem.id,
        "name": problem.name,
        "title": problem.title,
        "title_zh": problem.title_zh,
        "chapter": problem.chapter,
        "level": problem.level,
        "minutes": problem.minutes,
        "needs": list(problem.needs),
        "lacks": problem.lacks,
        "status": state,
        "stale": stale,
        "given": given,
        "core": problem.id in CORE,
        "optional": problem.optional,
    }


def rows() -> list[dict]:
    """Every problem's row, chapter by chapter."""
    kept = read()
    return [row(p, kept) for p in sorted(load_all().values(), key=lambda p: (p.chapter, p.id))]


def summary() -> dict:
    """All that `progress` prints: chapters with their rows and sums, the core path, and what comes next."""
    found = rows()
    chapters = []
    for number in dict.fromkeys(r["chapter"] for r in found):
        mine = [r for r in found if r["chapter"] == number]
        chapters.append({"chapter": number, "name": chapter_name(number), **_sums(mine), "problems": mine})
    core = [r for r in found if r["core"]]
    return {"chapters": chapters, "core": _sums(core), "all": _sums(found), "next": _next(found)}


def _sums(found: list[dict]) -> dict:
    accepted = [r for r in found if r["status"] == "accepted"]
    return {
        "accepted": len(accepted),
        "total": len(found),
        "minutes_accepted": sum(r["minutes"] for r in accepted),
        "minutes": sum(r["minutes"] for r in found),
    }


def next_problem() -> int | None:
    """The problem to do next: the first of the core path that is not accepted, else the first of all."""
    return _next(rows())


def _next(found: list[dict]) -> int | None:
    open_ = [r for r in found if r["status"] != "accepted"]
    ordered = [r for r in open_ if r["core"]] + [r for r in open_ if not r["core"] and not r["optional"]] + open_
    return ordered[0]["id"] if ordered else None


def chapter_name(number: int) -> str:
    """A chapter's name, from its file: 'bucket sizes'; '' for a chapter without one."""
    files = (ROOT / "course" / "chapters").glob(f"{number:02}_*.md")
    return next((re.sub(r"^\d+_", "", f.stem).replace("_", " ") for f in files), "")


def remember(problem: Problem, **facts: object) -> None:
    """Adds to what is known of a problem, in one step on the disk."""
    with workspace.locked():  # the panel, a terminal and `watch` may all have something to say
        try:
            kept = _read()
        except ValueError:
            kept = {}
            _put_aside()
        entry = kept.get(str(problem.id), {})
        if "parts" in facts:
            facts["parts"] = _parts(entry) | facts["parts"]
        kept[str(problem.id)] = entry | facts
        workspace.write(_path(), json.dumps(kept, indent=1).encode())


def _put_aside() -> None:
    """A damaged file is not written over: somebody may mend it."""
    names = ["damaged", *(f"damaged-{n}" for n in range(2, 100))]
    aside = next((p for name in names if not (p := _path().with_name(f"progress.{name}.json")).exists()), None)
    if aside is not None:
        _path().rename(aside)
        print(f"{workspace.shown(_path())} is damaged and begins anew; the old one is {aside.name}.", file=sys.stderr)


def mark(source: bytes, part: str) -> str:
    """A mark of what `part` is in this file: its pieces, all they use, and what runs at import."""
    try:
        pieces = split(source.decode("utf-8"))
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return hashlib.sha256(source).hexdigest()
    wanted, taken = {part}, set()
    while fresh := [i for i, p in enumerate(pieces) if i not in taken and not wanted.isdisjoint(p.names)]:
        taken.update(fresh)
        wanted |= used(n for i in fresh for n in pieces[i].nodes)
    texts = [p.text for i, p in enumerate(pieces) if i in taken or not (p.names or p.is_docstring)]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def _parts(entry: dict) -> dict:
    """What is known of the parts; a damaged record counts as none."""
    found = entry.get("parts")
    found = found if isinstance(found, dict) else {}
    return {
        k: v
        for k, v in found.items()
        if isinstance(v, dict) and all(isinstance(v.get(f), t) for f, t in FIELDS.items())
    }


def _present(problem: Problem) -> bytes:
    place = workspace.learner_file(problem)
    try:
        return place.read_bytes() if place.is_file() else b""
    except OSError:
        return b""


def _written(problem: Problem, source: bytes) -> bool:
    """Whether the file holds more than stubs of what this problem grows."""
    try:
        pieces = split(source.decode("utf-8"))
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return bool(source)  # a file that does not parse has been worked on
    return bool(Cell("", tuple(pieces)).names(problem.names))
