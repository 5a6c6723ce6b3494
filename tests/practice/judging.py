"""Runs the judge's command as a learner does."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

from grader import layers
from grader.problems import ROOT

# The strong layers, and why they cannot be used here (None: they can).
LAYER_SETS = {"bubblewrap": layers.bubblewrap_reason, "landlock,seccomp": layers.landlock_reason}
JUDGE = ROOT / "practice" / "judge.py"


def with_default_signals() -> None:
    """For a child: CI may run under nohup, and what is ignored is inherited."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def run(*arguments: object, env: dict | None = None, cwd: Path | None = None, timeout: float = 180, **options):
    return subprocess.run(
        [sys.executable, str(JUDGE), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=timeout,
        env=env,
        cwd=cwd,
        **options,
    )


def judge(*arguments: object, **options) -> dict:
    ran = run(*arguments, "--json", **options)
    assert ran.stdout, ran.stderr
    report = json.loads(ran.stdout.splitlines()[-1])
    return report | {"exit": ran.returncode}


def solution(**replaced: str) -> str:
    """A right answer to 133, with some functions replaced: solution(pad_to="def pad_to(bs, sizes): return 1")."""
    source = (ROOT / "mini_llm" / "buckets.py").read_text(encoding="utf-8")
    return "\n\n".join([source, *replaced.values()])
