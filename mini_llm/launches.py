"""Count what a step launches, and say how long the step must take.

Python calls operators; most of them launch a kernel. `count_operators` counts them in one run. `step_time` turns the
counts into a time, `bound_by` names what that time is made of, `fit_times` takes its two constants from measured runs,
and `savings` says what a graph and what fused kernels are worth.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

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
        return sum(self.histogram.values())

    @property
    def launching(self) -> int:
        """Calls that launch at least one kernel, as `launching_calls` has it."""
        return launching_calls(self.histogram)


def launching_calls(histogram: Mapping[str, int]) -> int:
    """How many of the calls in `histogram` (operator's name -> calls) launch at least one kernel.

    An estimate from the names: the operators in VIEWS launch none, all others do.
    """
    return sum(calls for name, calls in histogram.items() if name not in VIEWS)


def top_level_operators(events: Iterable[tuple[str, int, float, float]]) -> dict[str, int]:
    """Count the operators that Python called itself: {name: calls}, of names that start with "aten::".

    `events` are a profiler's, (name, thread, start, end), in any order. An operator that runs inside another event of
    its thread was called by that one, and is not counted, whatever the outer event's name is. Events of a thread lie
    inside each other or apart; they may touch.
    """
    counts: Counter = Counter()
    ends: dict[int, float] = {}  # of each thread's last top-level event
    # an outer event starts first, or at the same time and ends later
    for name, thread, start, end in sorted(events, key=lambda event: (event[2], -event[3])):
        if thread in ends and start < ends[thread] and end <= ends[thread]:
            continue
        ends[thread] = end
        counts[name] += name.startswith("aten::")
    return {name: calls for name, calls in counts.items() if calls}


def count_operators(fn: Callable, *args, **kwargs) -> OperatorCount:
    """Run `fn(*args, **kwargs)` once, without gradients, and count the `aten::` operators it calls.

    Top-level calls only: what an operator calls inside itself is its own business. The call is profiled
    on the CPU, where operators are launched from, so a model on a GPU is counted the same way. An error in `fn`
    is the caller's, and leaves the profiler stopped.
    Whatever is made inside `fn` counts too: `count_operators(model, ids, cache)` counts the step alone,
    `count_operators(lambda: model(torch.tensor([[5]]), cache))` also the four calls that make the tensor.
    """
    # imported here: the model of a step's time, below, needs no torch
    import torch
    from torch.profiler import ProfilerActivity, profile

    profiler = profile(activities=[ProfilerActivity.CPU], acc_events=True)  # without it, torch 2.11 warns
    with _quiet_stderr():
        profiler.start()
    try:
        with torch.no_grad():
            fn(*args, **kwargs)
    finally:
        with _quiet_stderr():
            profiler.stop()
    events = [(e.name, e.thread, e.time_range.start, e.time_range.end) for e in profiler.events()]
    return OperatorCount(Counter(top_level_operators(events)))


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
