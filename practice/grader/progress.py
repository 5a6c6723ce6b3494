"""What the learner has done so far: `.course/progress.json` in the workspace."""

from __future__ import annotations

import hashlib
import json

from grader import workspace
from grader.problems import Problem


def _path():
    return workspace.path() / ".course" / "progress.json"


def read() -> dict:
    """{problem id: {"verdict", "score", "sha", "hints"}}; empty where there is none, or it cannot be read."""
    try:
        kept = json.loads(_path().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return kept if isinstance(kept, dict) else {}


def status(problem: Problem, kept: dict | None = None) -> str:
    """'accepted', 'started' or 'not started'."""
    entry = (read() if kept is None else kept).get(str(problem.id), {})
    if entry.get("accepted"):
        return "accepted"
    return "started" if entry.get("score") else "not started"


def remember(problem: Problem, **facts: object) -> None:
    """Adds to what is known of a problem, in one step on the disk."""
    kept = read()
    kept[str(problem.id)] = kept.get(str(problem.id), {}) | facts
    _path().parent.mkdir(parents=True, exist_ok=True)
    workspace.write(_path(), json.dumps(kept, indent=1).encode())


def sha(source: bytes) -> str:
    return hashlib.sha256(source).hexdigest()
