"""What the tests want. Lives in the judge's process only."""

from __future__ import annotations

import torch


def same(a, b):
    """Equal values of the same types all the way down; a tuple is a list, the order of a dict makes no difference."""
    a, b = (list(each) if type(each) is tuple else each for each in (a, b))
    if type(a) is not type(b):
        return False
    if type(a) is dict:
        return a.keys() == b.keys() and all(same(a[name], b[name]) for name in a)
    if type(a) is list:
        return len(a) == len(b) and all(map(same, a, b))
    return a == b


def same_key(settings, others, ignored=None):
    left = [{name: part for name, part in each.items() if name not in (ignored or ())} for each in (settings, others)]
    return same(*left)


def yes(*_):
    return True


def step(x, w, b, scale, code):
    """The step, and the mark of the code that must serve it: `code` rows, or None for any number."""
    rows = [(row[:, None] * w).sum(0) * scale + b for row in x]
    return torch.stack(rows) + (0.5 if code is None else 100 * code)
