"""`kit.start()`: the first thing a notebook runs."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

from grader import workspace
from grader.problems import ROOT
from kit.words import say


def start() -> None:
    """Puts the workspace first on the path, says which mini_llm that gives, and brings %%grow.

    In a notebook only; in plain Python it sets the path and says the same.
    """
    ws = workspace.path()
    package = ws / "mini_llm"
    if not package.is_dir():
        say(f"There is no workspace yet: run `make learn` in {ROOT}, then restart this kernel.")
        return
    _set_path(ws)
    loaded = sys.modules.get("mini_llm")
    if loaded and not Path(loaded.__file__ or "").resolve().is_relative_to(package.resolve()):
        other = Path(loaded.__file__ or "").parent
        say(f"Another mini_llm is loaded already ({other}): restart this kernel and run this cell first.")
        return
    print(f"mini_llm: yours, in {package}")
    print(f"torch: {torch_line()}")
    _into_notebook()


def _set_path(ws: Path) -> None:
    """The workspace, then kit and grader; the folder of the reference package is never on the path."""
    ours = [str(ws), str(ROOT / "course"), str(ROOT / "practice")]
    rest = [p for p in sys.path if p not in ours and Path(p or os.getcwd()).resolve() != ROOT]
    sys.path[:] = [*ours, *rest]


def _into_notebook() -> None:
    from IPython import get_ipython

    shell = get_ipython()
    if shell is None:
        return
    from kit.magic import register
    from kit.waiting import Waiting

    register(shell)
    Waiting().install(shell)


def torch_line() -> str:
    """Which torch there is and what plays the graphs, without importing it."""
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.origin:
        return "not installed; this chapter may not need it"
    about: dict = {}
    version = Path(spec.origin).with_name("version.py")
    if version.exists():
        exec(version.read_text(encoding="utf-8"), about)
    name = f"{about.get('__version__', 'unknown version')}"
    gpu = _gpu() if about.get("cuda") else None
    if gpu:
        return f"{name} with CUDA {about['cuda']} on {gpu}"
    return f"{name} on the CPU; graphs are played by the tape, an emulator for learning"


def _gpu() -> str | None:
    """The first CUDA device's name, asked of the driver; no context is made."""
    import ctypes

    try:
        driver = ctypes.CDLL("libcuda.so.1")
        device, name = ctypes.c_int(), ctypes.create_string_buffer(100)
        if driver.cuInit(0) or driver.cuDeviceGet(ctypes.byref(device), 0):
            return None
        driver.cuDeviceGetName(name, 100, device)
        return name.value.decode()
    except OSError:
        return None
