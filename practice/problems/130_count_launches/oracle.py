"""Right answers, found another way than the reference: by looking at all pairs, by construction, by a formula.

Lives in the judge's process only.
"""

from __future__ import annotations

import re

NOTHING_LAUNCHED = r"aten::(view|transpose|chunk|reshape|expand|slice|unsqueeze|t|split|detach|alias|select|to)"


def launching_calls(histogram):
    return sum(histogram.values()) - sum(n for name, n in histogram.items() if re.fullmatch(NOTHING_LAUNCHED, name))


def top_level_operators(events):
    counted = {}
    for event in events:
        name, thread, start, end = event
        around = (e for e in events if e is not event and e[1] == thread and e[2] <= start and end <= e[3])
        if re.match("aten::", name) and not any(around):
            counted[name] = counted.get(name, 0) + 1
    return counted


def decode_step(layers: int, qk_norm: bool) -> dict[str, int]:
    """What a decode step of `mini_llm.Transformer` calls, read off its code; the cache holds something already."""
    norms = (4 if qk_norm else 2) * layers + 1
    of_a_layer = {
        "linear": 7, "transpose": 5, "view": 3, "chunk": 2, "neg": 2, "cat": 4, "repeat_interleave": 2, "matmul": 2,
        "div": 1, "reshape": 1, "ones": 1, "tril": 1, "bitwise_not": 1, "masked_fill": 1, "softmax": 1, "silu": 1,
        "mul": 5, "to": 4, "add": 4,
    }  # fmt: skip
    once = {
        "linear": 1, "cat": 1, "div": 1, "mul": 2, "to": 3, "pow": 1, "arange": 2, "unsqueeze": 2, "embedding": 1,
        "reciprocal": 1, "cos": 1, "sin": 1,
    }  # fmt: skip
    of_a_norm = {"to": 2, "pow": 1, "mean": 1, "add": 1, "rsqrt": 1, "mul": 2}
    names = {*of_a_layer, *once, *of_a_norm}
    return {
        f"aten::{name}": layers * of_a_layer.get(name, 0) + once.get(name, 0) + norms * of_a_norm.get(name, 0)
        for name in names
    }
