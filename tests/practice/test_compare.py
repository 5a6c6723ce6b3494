"""What counts as the right answer."""

from __future__ import annotations

from math import inf

import pytest
import torch

from grader.compare import call_text, difference, short


@pytest.mark.parametrize(
    ("got", "want", "tolerance"),
    [
        (3, 3, None),
        ([1, 2], [1, 2], None),
        (None, None, None),
        (0, 0.0, 1e-9),
        (1.0 + 1e-10, 1.0, 1e-9),
        ({}, {}, None),
    ],
)
def test_right(got, want, tolerance):
    assert difference(got, want, tolerance) is None


@pytest.mark.parametrize(
    ("got", "want", "tolerance", "says"),
    [
        (True, 1, None, "an int was expected, not a bool"),
        (6.0, 6, None, "an int was expected, not a float"),
        ((3, 7), [3, 7], None, "a list was expected, not a tuple"),
        ([1, True], [1, 1], None, r"at \[1\]"),
        ([1, 2, 3], [1, 2], None, "2 expected, 3 came"),
        ([1, 5, 8], [1, 4, 8], None, r"at \[1\]"),
        (None, 3, None, "an int was expected, not None"),
        (3, None, None, "None was expected, not an int"),
        (float("nan"), 1.0, 1e-9, "differs"),
        (float("nan"), float("nan"), 1e-9, "differs"),
        (True, 1.0, 1e-9, "a number was expected, not a bool"),
        ("1", 1.0, 1e-9, "a number was expected, not a str"),
        (1.1, 1.0, 1e-9, "differs"),
        ({"a": 1, "b": [4, 18]}, {"a": 1, "b": [4, 4]}, None, r"at \['b'\]\[1\]: 4 expected, 18 came"),
        ({1: 2}, {1: 3}, None, r"at \[1\]"),
        ({1: 2}, {2: 2}, None, r"the keys differ \(missing: 2; too many: 1\)"),
        ({}, dict.fromkeys("abcdef", 1), None, r"\(missing: 'a', 'b', 'c', 'd', …\)"),
    ],
)
def test_wrong(got, want, tolerance, says):
    with pytest.raises(AssertionError, match=says):
        raise AssertionError(difference(got, want, tolerance))


def test_long_values_are_cut_in_the_middle():
    text = short(list(range(10_000)))
    assert len(text) < 330 and text.startswith("[0, 1") and text.endswith("9999]")
    assert call_text("f", ([1], 2), {"k": 3}) == "f([1], 2, k=3)"


def test_a_tensor_without_numbers_is_short_however_many_rows_it_has():
    assert short(torch.empty(2**31 - 1, 0)) == "<torch.float32 [2147483647, 0]: no numbers>"
    assert short(torch.empty(0)) == "tensor([], dtype=torch.float32)"


def test_infinities_and_keys_are_compared_as_all_else():
    assert difference(inf, inf, 1e-9) is None and difference(-inf, inf, 1e-9) is not None
    assert difference({True: 2}, {1: 2}) is not None and difference({1.0: 2}, {1: 2}) is not None
