"""Count what a step launches: every operator that Python calls, and those that need a kernel."""

import os
from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch.profiler import ProfilerActivity, profile

# Operators that only describe memory anew, or, like `to` when the dtype is already right, do nothing.
VIEWS = frozenset(
    f"aten::{name}"
    for name in "view transpose chunk reshape expand slice unsqueeze t split detach alias select to".split()
)


@dataclass(frozen=True)
class OperatorCount:
    """Top-level operator calls of one run: `histogram` maps the profiler's name to the number of calls."""

    histogram: Counter

    @property
    def total(self) -> int:
        return self.histogram.total()

    @property
    def launching(self) -> int:
        """Calls that launch at least one kernel. An estimate from the names: a view launches none."""
        return sum(calls for name, calls in self.histogram.items() if name not in VIEWS)


def count_operators(fn: Callable, *args, **kwargs) -> OperatorCount:
    """Run `fn(*args, **kwargs)` once, without gradients, and count the `aten::` operators it calls.

    Top-level calls only: what an operator calls inside itself is its own business. The call is profiled
    on the CPU, where operators are launched from, so a model on a GPU is counted the same way.
    Whatever is made inside `fn` counts too: `count_operators(model, ids, cache)` counts the step alone,
    `count_operators(lambda: model(torch.tensor([[5]]), cache))` also the four calls that make the tensor.
    """
    profiler = profile(activities=[ProfilerActivity.CPU], acc_events=True)  # without it, torch 2.11 warns
    with _quiet_stderr():
        profiler.start()
    try:
        with torch.no_grad():
            fn(*args, **kwargs)
    finally:
        with _quiet_stderr():
            profiler.stop()
    return OperatorCount(
        Counter(e.name for e in profiler.events() if e.name.startswith("aten::") and e.cpu_parent is None)
    )


@contextmanager
def _quiet_stderr():
    """torch 2.13's profiler writes a line to stderr at start and stop, from C++; a notebook would show it."""
    saved = os.dup(2)
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
