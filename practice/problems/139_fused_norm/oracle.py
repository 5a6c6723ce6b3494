"""Right answers in double precision, row by row, rounded where the statement says.

Lives in the judge's process only.
"""

from __future__ import annotations

import math

import torch

# How far fp32 statistics, in whatever order they are summed, may be off, relative and, since an eps of 1e-6 that is
# added in another place is to change nothing where the property is another, absolute.
UNSURE = 2e-6


def rounded(numbers, dtype) -> list[float]:
    return torch.tensor(numbers, dtype=torch.float64).to(dtype).double().tolist()


def added(x, delta):
    return (x.double() + delta.double()).to(x.dtype).float()


def scaled(row, eps) -> list[float]:
    root = math.sqrt(math.fsum(v * v for v in row) / len(row) + eps)
    return [v / root if root else 0.0 for v in row]


def normed(x, gain, eps):
    gains, out = gain.tolist(), []
    for row in x.tolist():
        unit = rounded(scaled(row, eps), x.dtype)
        out.append(rounded([u * g for u, g in zip(unit, gains, strict=True)], x.dtype))
    return torch.tensor(out)


def is_clear(row, eps, dtype) -> bool:
    """Whether every number of the row rounds the same way however the last digits of the statistics come out."""
    unit = scaled(row, eps)
    low, high = ([u + off * (1 + abs(u)) for u in unit] for off in (-UNSURE, UNSURE))
    return dtype == torch.float32 or rounded(low, dtype) == rounded(high, dtype)
