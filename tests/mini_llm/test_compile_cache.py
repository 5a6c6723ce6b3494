"""Compile once for every size; the key of the cache is tested with the step that it is for, in test_fusion.py."""

from collections import Counter

import pytest
import torch

from mini_llm.compile_cache import cache_key, compile_once


class Counting:
    """A backend that compiles nothing, and knows for how many rows its code was made and how often it ran."""

    def __init__(self):
        self.made, self.ran = [], Counter()

    def __call__(self, graph_module, examples):
        rows = graph_module.graph.find_nodes(op="placeholder")[0].meta["example_value"]
        rows = "any" if isinstance(rows, torch.SymInt) or isinstance(rows.shape[0], torch.SymInt) else rows.shape[0]
        self.made.append(rows)

        def code(*args):
            self.ran[rows] += 1
            return graph_module(*args)

        return code


def layer(scale):
    def step(x, w):
        return x @ w * scale

    return step


def test_each_size_finds_its_code():
    backend, w = Counting(), torch.randn(3, 2)
    fast = compile_once(layer(2), backend, compile_sizes=[4, 9])
    for rows in (5, 1, 4, 3, 12, 9, 4, 1):
        x = torch.randn(rows, 3)
        torch.testing.assert_close(fast(x, w), layer(2)(x, w))
        assert not hasattr(x, "_dynamo_dynamic_indices")  # what the caller has is left alone
    assert backend.made == ["any", 1, 4, 9]
    assert backend.ran == {"any": 3, 1: 2, 4: 2, 9: 1}


def test_no_number_of_functions_or_sizes_is_too_many():
    backend, w = Counting(), torch.randn(3, 2)
    for scale in range(12):
        compile_once(layer(scale), backend)(torch.randn(4, 3), w)
    fast = compile_once(layer(1), backend, compile_sizes=range(2, 14))
    for rows in range(2, 14):
        fast(torch.randn(rows, 3), w)
    assert backend.made == ["any"] * 12 + list(range(2, 14))
    assert sum(backend.ran.values()) == 24


def test_a_setting_without_an_exact_text_is_refused():
    assert cache_key({"a": {"b": 1, "c": None}}) == cache_key({"a": {"c": None, "b": 1}}) != cache_key({"a": {"b": 1}})
    with pytest.raises(TypeError):
        cache_key({"dtype": torch.float32})
