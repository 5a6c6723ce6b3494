"""Right answers, found another way than the reference: where that is cheap, by trying everything.

Lives in the judge's process only.
"""

from __future__ import annotations

from itertools import combinations
from operator import add


def pad_to(bs: int, sizes: list[int]) -> int | None:
    return next((s for s in sizes if s >= bs), None)


def padded_rows(dist: dict[int, int], sizes: list[int]) -> int:
    """All padded rows, over all steps, a whole number."""
    return sum(n * (pad_to(bs, sizes) - bs) for bs, n in dist.items() if pad_to(bs, sizes) is not None)


def expected_waste(dist: dict[int, int], sizes: list[int]) -> float:
    steps = sum(dist.values())
    return padded_rows(dist, sizes) / steps if steps else 0


def best_sizes_by_trying(dist: dict[int, int], max_bs: int, k: int) -> list[int]:
    """Every list there is, in dictionary order; the first of the best. For small inputs."""
    lists = ([*chosen, max_bs] for chosen in combinations(range(1, max_bs), k - 1))
    return min(lists, key=lambda sizes: padded_rows(dist, sizes))


def best_sizes(dist: dict[int, int], max_bs: int, k: int) -> list[int]:
    """The same by a table from the front: for each size, the best lists that end there.

    `rows[i]` and `lists[i]` are the padded rows of the best list of `m` sizes of which the last is `i`, and that list;
    among equals it is the first in dictionary order, and putting the same size behind two lists keeps their order.
    """
    padded = [[0] * max_bs for _ in range(max_bs + 1)]  # padded[i][j]: rows of batches j+1..i, all padded to i
    for i in range(1, max_bs + 1):
        total = 0
        for j in range(i - 1, -1, -1):
            total += dist.get(j + 1, 0) * (i - j - 1)
            padded[i][j] = total
    rows, lists = [each[0] for each in padded], [[i] for i in range(max_bs + 1)]
    for m in range(2, k + 1):
        before, shorter = rows[:], lists[:]
        for i in range(m, max_bs + 1):
            sums = list(map(add, before[m - 1 : i], padded[i][m - 1 : i]))
            rows[i] = min(sums)
            lists[i] = [*min(shorter[j] for j, total in enumerate(sums, m - 1) if total == rows[i]), i]
    return lists[max_bs]
