# verdict: wrong answer
# diagnosis: the list ends at the largest batch that occurred; max_bs itself must be captured
_right = best_sizes


def best_sizes(dist, max_bs, k):
    top = max((bs for bs, n in dist.items() if n and bs <= max_bs), default=max_bs)
    return _right(dist, top, k) if k <= top else _right(dist, max_bs, k)
