"""What the scene's steps compute, in plain torch and without a graph. Lives in the judge's process only."""

from __future__ import annotations

import torch


def weighted(x, y, scale, term=0, shift=0):
    return torch.stack([a * scale + b * term + shift for a, b in zip(x, y, strict=True)])


def nested(x, y, scale):
    total = weighted(x, y, scale, 1)
    return {"total": total, "parts": (total[1:], [weighted(x, y, 1, -1), None, 7]), "input": y, "name": "nested"}
