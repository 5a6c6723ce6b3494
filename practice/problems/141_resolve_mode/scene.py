"""Asks with names and answers with names: enums cannot cross to the judge."""

import logging

from mini_llm import dispatch


def _resolve(solution, mode, support, settings):
    modes = getattr(solution, "CUDAGraphMode", dispatch.CUDAGraphMode)  # a whole module has enums of its own
    levels = getattr(solution, "AttentionCGSupport", dispatch.AttentionCGSupport)
    got = solution.resolve_cudagraph_mode(modes[mode], levels[support], **settings)
    return got.name if isinstance(got, modes) else f"{type(got).__name__}, not a CUDAGraphMode"


def resolve(solution, mode, support, **settings):
    """The name of the resolved mode, or 'ValueError' when it was refused with one."""
    try:
        return _resolve(solution, mode, support, settings)
    except ValueError:
        return "ValueError"


def warnings_of(solution, mode, support, **settings):
    """{"mode": the name of the resolved mode, "log": 'LEVEL text' of what was logged at WARNING or above, in order}."""
    lines = []

    class Keep(logging.Handler):
        def emit(self, record):
            lines.append(f"{record.levelname} {record.getMessage()}")

    keep = Keep(logging.WARNING)
    root = logging.getLogger()
    root.addHandler(keep)
    try:
        got = _resolve(solution, mode, support, settings)
    finally:
        root.removeHandler(keep)
    return {"mode": got, "log": lines}
