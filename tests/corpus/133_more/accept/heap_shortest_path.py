# verdict: accepted
# a shortest path over (last size, sizes left) found with a heap; ties fall to the smaller list
import heapq
from bisect import bisect_left
from itertools import accumulate


def pad_to(bs, sizes): return (*sizes, None)[bisect_left(sizes, bs)]


def expected_waste(dist, sizes):
    return sum(n * (s - b) for b, n in dist.items() if (s := pad_to(b, sizes))) / (sum(dist.values()) or 1)


def best_sizes(dist, max_bs, k):
    n = [0] * (max_bs + 1)
    for b, count in dist.items():
        if b <= max_bs: n[b] += count
    c, w = [*accumulate(n)], [*accumulate(b * x for b, x in enumerate(n))]
    heap, done = [(0, (), 0, k)], set()
    while heap:
        rows, path, last, left = heapq.heappop(heap)
        if (last, left) in done: continue
        done.add((last, left))
        if not left: return [*path]
        for i in ([max_bs] if left == 1 else range(last + 1, max_bs - left + 2)):
            if (i, left - 1) not in done:
                heapq.heappush(heap, (rows + i * (c[i] - c[last]) - w[i] + w[last], (*path, i), i, left - 1))
