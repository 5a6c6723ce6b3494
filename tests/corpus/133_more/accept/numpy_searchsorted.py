# verdict: accepted
import numpy as np, os


def pad_to(bs, sizes):
    a = np.asarray(sizes, dtype=np.int64)
    i = int(np.searchsorted(a, bs))
    return a[i].item() if i < a.size else None


def expected_waste(dist, sizes):
    b = np.fromiter(dist.keys(), np.int64, len(dist)); n = np.fromiter(dist.values(), np.int64, len(dist))
    if not n.sum(): return 0
    top = np.asarray([*sizes, 0], dtype=np.int64)
    i = np.searchsorted(np.asarray(sizes, dtype=np.int64), b)
    fits = i < len(sizes)
    return float((np.where(fits, top[i] - b, 0) * n).sum() / n.sum())


def best_sizes(dist, max_bs, k):
    n = np.zeros(max_bs + 1, dtype=object)
    for b in dist:
        if b <= max_bs: n[b] = dist[b]
    c, w = np.cumsum(n), np.cumsum(n * np.arange(max_bs + 1))
    i, j = np.meshgrid(np.arange(max_bs + 1), np.arange(max_bs + 1))
    cost = (i * (c[i] - c[j]) - (w[i] - w[j])).astype(np.float64)
    cost[i <= j] = np.inf
    best, first = cost[:, max_bs].copy(), [np.full(max_bs + 1, max_bs)]
    for _ in range(k - 1):
        total = cost + best[None, :]
        total[:, max_bs] = np.inf
        first.append(total.argmin(axis=1)); best = total.min(axis=1)
    at, found = 0, []
    for step in reversed(first):
        at = int(step[at]); found.append(at)
    return found
