"""The examples of the statement."""

import oracle
import torch

REFERENCE = torch.tensor([[1.0, -8.0], [0.5, 0.25]])
OTHER = torch.tensor([[1.00001, -8.0], [0.5, 0.2501], [7.0, 7.0]])
LATER = torch.tensor([[3.0, 1.0], [2.0, 2.0]])


def test_diverging_rows_example(check):
    """The example of the statement: 1e-5 is little beside 8, and 1e-4 is much beside 0.5."""
    check.each("diverging_rows", [(REFERENCE, OTHER)], oracle.diverging_rows)


def test_first_divergence_example(check):
    """The example of the statement."""
    check.each("first_divergence", [([LATER, REFERENCE], [LATER, OTHER])], oracle.first_divergence)


def test_name_cause_example(check):
    """The examples of the statement: a stale row, and padding in block 2, which is the second request's."""
    old, zeros = torch.tensor([[9.0, 9.0], [0.5, 0.2501], [0.0, 0.0]]), torch.zeros(3, 2)
    step = ([LATER, REFERENCE], [LATER, OTHER])
    batch = ([5, 10, 9], [0, 1, 2], [[1], [2]], 4)
    check.each("name_cause", [(*step, [zeros, old], *batch), (*step, [zeros, zeros], *batch)], oracle.name_cause)
