# verdict: wrong answer
# diagnosis: the list has fewer than k sizes; exactly k are asked for, even when fewer waste nothing
_right = best_sizes


def best_sizes(dist, max_bs, k):
    inside = {bs: n for bs, n in dist.items() if bs <= max_bs}
    least = expected_waste(inside, _right(dist, max_bs, k))
    return next(s for s in (_right(dist, max_bs, j) for j in range(1, k + 1)) if expected_waste(inside, s) <= least)
