"""Right answers, found another way than the reference: where that is cheap, by trying everything.

Lives in the judge's process only.
"""

from __future__ import annotations

from itertools import combinations


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

    `best[i]` is (padded rows, list) for `m` sizes of which the last is `i`; tuples compare by rows first and
    by dictionary order after that, and putting the same size behind two lists keeps their order.
    """
    rows = [[0] * (max_bs + 1) for _ in range(max_bs + 1)]  # rows[j][i]: batches j+1..i, all padded to i
    for i in range(1, max_bs + 1):
        total = 0
        for j in range(i - 1, -1, -1):
            total += dist.get(j + 1, 0) * (i - j - 1)
            rows[j][i] = total
    best = {i: (rows[0][i], [i]) for i in range(1, max_bs + 1)}
    for m in range(2, k + 1):
        longer = {}
        for i in range(m, max_bs + 1):
            total, sizes = min((best[j][0] + rows[j][i], best[j][1]) for j in range(m - 1, i))
            longer[i] = (total, [*sizes, i])
        best = longer
    return best[max_bs][1]
