from __future__ import annotations

import os

import pytest
from judging import solution

from grader import problems

LOAD_ALL = problems.load_all  # a test may have put another in its place


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """An empty place for a workspace, in the environment of this process and of its children."""
    place = tmp_path / "workspace"
    monkeypatch.setenv("MINI_LLM_WORKSPACE", str(place))
    return place


@pytest.fixture
def submit(tmp_path):
    """Writes a file to judge; its path."""

    def write(source: str | bytes | None = None, name: str = "mine.py", **replaced: str):
        path = tmp_path / name
        data = solution(**replaced) if source is None else source
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    return write


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """A temporary folder of the test's own, to see what is left in it."""
    place = tmp_path / "tmp"
    place.mkdir(mode=0o755)
    os.chmod(tmp_path, 0o755)
    monkeypatch.setenv("TMPDIR", str(place))
    return place


@pytest.fixture(autouse=True)
def _problems_are_read_anew():
    """A test that puts other problems in their place would leave them in the cache for all that come after it."""
    yield
    LOAD_ALL.cache_clear()
