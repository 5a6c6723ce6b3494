"""What a notebook of the course imports: `import kit; kit.start()`.

Names are imported when first used, so a start takes no longer than it must.
"""

from importlib import import_module

# name -> the module that holds it; none has the name of what it holds, which would hide it
_HOMES = {
    "start": "kit.session",
    "judge": "kit.panel",
    "ladder_explorer": "kit.explorer",
    "waste_plot": "kit.plots",
    "take": "kit.conflict",
    "answers": "grader.cells",
    "assemble": "grader.cells",
}
_MODULES = ("workloads", "reference")
__all__ = sorted([*_HOMES, *_MODULES])


def __getattr__(name):
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _MODULES:
        return import_module(f"kit.{name}")
    raise AttributeError(f"kit has no {name!r}; it has {', '.join(__all__)}.")


def __dir__():
    return __all__
