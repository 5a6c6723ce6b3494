"""What the learner has done so far: `.course/progress.json` in the workspace.

A problem is often judged part by part, while the file goes on growing. So each part's verdict is kept with a
mark of the code it speaks of: what the part is and all that it uses in the file. It stands until that changes.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping

from grader import workspace
from grader.growth import Cell
from grader.pieces import split, used
from grader.problems import Problem


def _path():
    return workspace.path() / ".course" / "progress.json"


def read() -> dict:
    """{problem id: {"parts": {part: {"passed", "total", "mark", "at"}}, "hints"}}; empty where none can be read."""
    try:
        kept = json.loads(_path().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {k: v for k, v in kept.items() if isinstance(v, dict)} if isinstance(kept, dict) else {}


def record(problem: Problem, parts: Mapping[str, tuple[int, int]], source: bytes) -> None:
    """Keeps a judgement of the learner's own file `source`: {part: (tests passed, tests run)}.

    Parts that were not judged keep what is known of them.
    """
    known = _parts(read().get(str(problem.id), {}))
    now = {
        part: {"passed": passed, "total": total, "mark": mark(source, part), "at": time.time()}
        for part, (passed, total) in parts.items()
    }
    remember(problem, parts=known | now)


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
    kept = read() if kept is None else kept
    source = _present(problem)
    parts = [last(problem, part, kept, source) for part in problem.parts]
    if all(p and p["accepted"] and p["current"] for p in parts):
        return "accepted"
    if any(p and p["passed"] for p in parts) or _written(problem, source):
        return "started"
    return "not started"


def remember(problem: Problem, **facts: object) -> None:
    """Adds to what is known of a problem, in one step on the disk."""
    kept = read()
    kept[str(problem.id)] = kept.get(str(problem.id), {}) | facts
    workspace.write(_path(), json.dumps(kept, indent=1).encode())


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
    return {k: v for k, v in found.items() if isinstance(v, dict) and {"passed", "total", "mark", "at"} <= v.keys()}


def _present(problem: Problem) -> bytes:
    try:
        return workspace.learner_file(problem).read_bytes()
    except OSError:
        return b""


def _written(problem: Problem, source: bytes) -> bool:
    """Whether the file holds more than stubs of what this problem grows."""
    try:
        pieces = split(source.decode("utf-8"))
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return bool(source)  # a file that does not parse has been worked on
    return bool(Cell("", tuple(pieces)).names(problem.names))
