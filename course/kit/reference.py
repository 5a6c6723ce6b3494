"""The reference package under a name of its own, for pictures that must work before anything is written.

`mini_llm` in a notebook always means the learner's package; this one is loaded by its path, beside it.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from types import ModuleType

from grader.problems import ROOT
from kit.waiting import sentence

_NAME = "_mini_llm_reference"


def load(module: str) -> ModuleType:
    """The reference's module, such as `load("buckets")`."""
    if _NAME not in sys.modules:
        folder = ROOT / "mini_llm"
        spec = importlib.util.spec_from_file_location(
            _NAME, folder / "__init__.py", submodule_search_locations=[str(folder)]
        )
        package = importlib.util.module_from_spec(spec)
        sys.modules[_NAME] = package
        spec.loader.exec_module(package)
    return importlib.import_module(f"{_NAME}.{module}")


def yours_or_reference(module: str, name: str, probe: Callable[[Callable], bool]) -> tuple[Callable, str]:
    """The learner's function if `probe` finds that it works, else the reference's, and one line about why.

    The line is empty when it is the learner's.
    """
    other = f"The picture uses the reference's {name}."
    try:
        function = getattr(importlib.import_module(f"mini_llm.{module}"), name)
        if probe(function):
            return function, ""
        why = f"Your {name} gives something else than it should here; ask the judge."
    except NotImplementedError:
        why = sentence(name)
    except Exception as e:
        why = f"Your {name} raised {type(e).__name__} ({e}); ask the judge."
    return getattr(load(module), name), f"{why} {other}"
