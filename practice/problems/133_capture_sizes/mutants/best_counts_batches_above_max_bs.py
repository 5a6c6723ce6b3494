# verdict: wrong answer
# diagnosis: batches above max_bs were counted as if they ran in the graph of max_bs; they run without one and decide nothing
_right = best_sizes


def best_sizes(dist, max_bs, k):
    folded = {}
    for bs, n in dist.items():
        folded[min(bs, max_bs)] = folded.get(min(bs, max_bs), 0) + n
    above = sum(n for bs, n in dist.items() if bs > max_bs)
    if above and max_bs > 1:
        folded[max_bs - 1] = folded.get(max_bs - 1, 0) + above
    return _right(folded, max_bs, k)
