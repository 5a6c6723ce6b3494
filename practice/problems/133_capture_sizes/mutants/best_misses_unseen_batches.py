# verdict: error
# diagnosis: dist is asked for a batch that never occurred (KeyError); such a batch counts zero steps
_right = best_sizes


def best_sizes(dist, max_bs, k):
    for bs in range(1, max_bs + 1):
        dist[bs]
    return _right(dist, max_bs, k)
