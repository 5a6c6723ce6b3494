"""The examples of the statement."""

import oracle
import torch

X = torch.tensor([[1.0, 2.0, 2.0]], dtype=torch.float16)


def test_added_examples(check):
    """The example of the statement."""
    delta = torch.tensor([[0.5, 0.0, -2.0]], dtype=torch.float16)
    check.script().ask_scene("added", X, delta, want=oracle.added(X, delta))


def test_normed_examples(check):
    """The example of the statement."""
    gain = torch.tensor([1.0, 1.0, 0.5], dtype=torch.float16)
    check.script().ask_scene("normed", X, gain, 0.0, want=oracle.normed(X, gain, 0.0))
