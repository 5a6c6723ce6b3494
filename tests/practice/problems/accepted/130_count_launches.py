"""Problem 130 in another style: all pairs of events, and the profiler's own parents."""

import collections

import torch
from torch.profiler import ProfilerActivity, profile

from mini_llm.launches import VIEWS, OperatorCount


def launching_calls(histogram):
    launching = 0
    for name in histogram:
        if name in VIEWS:
            continue
        launching += histogram[name]
    return launching


def lies_in(inner, outer):
    return inner != outer and inner[1] == outer[1] and outer[2] <= inner[2] and inner[3] <= outer[3]


def top_level_operators(events):
    found = {}
    for event in events:
        if event[0][:6] == "aten::" and not [e for e in events if lies_in(event, e)]:
            found.setdefault(event[0], []).append(event)
    return {name: len(calls) for name, calls in found.items()}


@torch.no_grad()
def count_operators(fn, *args, **kwargs):
    with profile(activities=[ProfilerActivity.CPU]) as prof:
        fn(*args, **kwargs)
    names = [e.name for e in prof.events() if e.cpu_parent is None and e.name.startswith("aten::")]
    return OperatorCount(collections.Counter(names))
