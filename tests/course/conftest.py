"""A notebook's surroundings for the tests of kit: a workspace, and a shell that imports from it."""

import sys

import pytest

from grader import workspace


@pytest.fixture
def ws(tmp_path, monkeypatch):
    """A fresh workspace, first on the path; the reference package that other tests imported is set aside."""
    place = tmp_path / "workspace"
    monkeypatch.setenv("MINI_LLM_WORKSPACE", str(place))
    workspace.ensure_package(place)
    aside = {n: m for n, m in sys.modules.items() if n == "mini_llm" or n.startswith("mini_llm.")}
    for name in aside:
        del sys.modules[name]
    monkeypatch.setattr(sys, "path", [str(place), *sys.path])
    yield place
    for name in [n for n in sys.modules if n == "mini_llm" or n.startswith("mini_llm.")]:
        del sys.modules[name]
    sys.modules.update(aside)


@pytest.fixture
def shell(ws, monkeypatch):
    """An IPython shell with %%grow, as `kit.start()` sets one up."""
    from IPython.core.interactiveshell import InteractiveShell

    from kit import conflict, words
    from kit.magic import register
    from kit.waiting import Waiting

    monkeypatch.setattr(words, "WIDTH", 10_000)  # a sentence is a line
    made = InteractiveShell()
    made.colors = "nocolor"
    register(made)
    Waiting().install(made)
    conflict._pending.clear()
    conflict._latest.clear()
    return made
