# verdict: wrong answer
# diagnosis: the sizes are right, but they come as a tuple; return a list
_right = best_sizes


def best_sizes(dist, max_bs, k):
    return tuple(_right(dist, max_bs, k))
