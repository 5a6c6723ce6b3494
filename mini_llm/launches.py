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


def step_time(
    launches: int, kernels: int, nbytes: int, launch_ms: float, kernel_ms: float, bytes_per_ms: float
) -> float:
    """Milliseconds that a step takes: the CPU launches while the GPU computes, and the slower of the two decides.

    The CPU needs `launch_ms` for each of `launches`. The GPU needs `kernel_ms` for each of `kernels`, however small,
    and the time to read `nbytes` at `bytes_per_ms` (3.35 TB/s are 3.35e9).
    """
    return max(launches * launch_ms, kernels * kernel_ms + nbytes / bytes_per_ms)


def bound_by(launches: int, kernels: int, nbytes: int, launch_ms: float, kernel_ms: float, bytes_per_ms: float) -> str:
    """What the time of `step_time` is mostly made of: "launches", "kernels" or "bytes".

    "launches" when the CPU takes longer than the GPU; else the larger of the GPU's two terms.
    """
    cpu, per_kernel, reading = launches * launch_ms, kernels * kernel_ms, nbytes / bytes_per_ms
    if cpu > per_kernel + reading:
        return "launches"
    return "kernels" if per_kernel > reading else "bytes"


def fit_times(runs: Iterable[Mapping[str, float]], bytes_per_ms: float) -> tuple[float, float]:
    """(launch_ms, kernel_ms) that explain measured `runs` best, each by least squares over the runs that show it.

    A run has "launches", "kernels", "bytes", "ms" and "gpu_waits", the share of its time in which the GPU ran nothing.
    Above a half the CPU set the pace, ms = launches * launch_ms; else the GPU did, ms = kernels * kernel_ms + bytes /
    bytes_per_ms. Raises ValueError when no run shows one of the two.
    """
    runs = list(runs)
    on_cpu = [(run["launches"], run["ms"]) for run in runs if run["gpu_waits"] > 0.5]
    on_gpu = [(run["kernels"], run["ms"] - run["bytes"] / bytes_per_ms) for run in runs if run["gpu_waits"] <= 0.5]
    if not on_cpu:
        raise ValueError("no run shows the launch time: in none does the GPU wait for more than half of the time")
    if not on_gpu:
        raise ValueError("no run shows the kernel time: in all of them the GPU waits for more than half of the time")
    return _slope(on_cpu), _slope(on_gpu)


def savings(
    kernels: int, fused_kernels: int, nbytes: int, launch_ms: float, kernel_ms: float, bytes_per_ms: float
) -> dict[str, float]:
    """Milliseconds that a "graph", "fusion" and "both" save of a plain step, which launches each of its `kernels`.

    A graph makes all launches one. Fusion makes the kernels, and so the launches, `fused_kernels`.
    """
    rest = nbytes, launch_ms, kernel_ms, bytes_per_ms
    plain = step_time(kernels, kernels, *rest)
    return {
        "graph": plain - step_time(1, kernels, *rest),
        "fusion": plain - step_time(fused_kernels, fused_kernels, *rest),
        "both": plain - step_time(1, fused_kernels, *rest),
    }


def _slope(points: list[tuple[float, float]]) -> float:
    """The t for which y = t * x fits points (x, y) best: the sum of (y - t * x)² is least."""
    return sum(x * y for x, y in points) / sum(x * x for x, _ in points)
