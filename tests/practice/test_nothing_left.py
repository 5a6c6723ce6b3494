"""Judgements in a row leave nothing behind: no process, no file, no memory. Ctrl-C: test_judge_command.py."""

from __future__ import annotations

import os

import psutil
from judging import solution

from grader import problems
from grader.runner import judge

SLOW = int(os.environ.get("SLOW") or 0)
MANY = 500 if SLOW > 1 else 12
RIGHT = solution()
KINDS = [
    RIGHT,
    "def pad_to(bs, sizes): return 1\n",
    "def pad_to(:\n",
    "import os\nos._exit(1)\n",
    solution(pad_to="def pad_to(bs, sizes):\n    open('left', 'w').write('x'); return 1"),
]


def test_many_judgements_in_a_row(temporary, monkeypatch):
    """MANY is 500 with SLOW=2."""
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    problem, me = problems.get(133), psutil.Process()
    before = len(me.children(recursive=True))
    held, files = 0, 0
    for i in range(MANY):
        judge(problem, KINDS[i % len(KINDS)].encode(), "mine.py", seed=i)
        assert len(me.children(recursive=True)) == before and not list(temporary.iterdir())
        if i == 9:  # everything has been imported and used once
            held, files = me.memory_info().rss, me.num_fds()
    assert me.num_fds() <= files
    assert me.memory_info().rss - held < 16 << 20
