# verdict: wrong answer
# diagnosis: the most frequent batch sizes were captured; a size also serves the batches below it, so frequency alone does not decide
def best_sizes(dist, max_bs, k):
    order = sorted(range(1, max_bs), key=lambda s: (-dist.get(s, 0), s))
    return sorted([*order[: k - 1], max_bs])
