# verdict: accepted
from dataclasses import dataclass, field
from functools import cached_property, lru_cache


@dataclass(frozen=True, slots=False, order=True)
class Workload:
    counts: tuple = field(default=(), compare=True)
    @classmethod
    def of(cls, dist): return cls(tuple(sorted(dist.items())))
    @cached_property
    def steps(self): return sum(n for _, n in self.counts)


@lru_cache(maxsize=None)
def _pad(bs, sizes): return min((s for s in sizes if s >= bs), default=None)


@lru_cache(maxsize=None)
def _cost(work, top):
    """rows[j]: padded rows of the batches j+1..top when all run at top"""
    found, total, have = [0] * top, 0, dict(work.counts)
    for j in range(top - 1, -1, -1):
        total += have.get(j + 1, 0) * (top - j - 1)
        found[j] = total
    return found


@lru_cache(maxsize=None)
def _best(work, max_bs, k, below):
    if k == 1: return _cost(work, max_bs)[below], (max_bs,)
    found = None
    for first in range(below + 1, max_bs - k + 2):
        rest, sizes = _best(work, max_bs, k - 1, first)
        here = (_cost(work, first)[below] + rest, (first, *sizes))
        if found is None or here < found: found = here
    return found


def pad_to(bs, sizes): return _pad(bs, tuple(sizes))


def expected_waste(dist, sizes):
    work, sizes = Workload.of(dist), tuple(sizes)
    if not work.steps: return 0.0
    return sum(n * ((_pad(b, sizes) or b) - b) for b, n in work.counts) / work.steps


def best_sizes(dist, max_bs, k): return list(_best(Workload.of(dist), max_bs, k, 0)[1])
