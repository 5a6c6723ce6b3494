# verdict: timeout
# diagnosis: trying every list is too slow: k = 20 sizes out of 256 make more lists than can be counted; build the best list from the best shorter ones (dynamic programming)
from itertools import combinations


def best_sizes(dist, max_bs, k):
    inside = {bs: n for bs, n in dist.items() if bs <= max_bs}
    lists = ([*chosen, max_bs] for chosen in combinations(range(1, max_bs), k - 1))
    return min(lists, key=lambda sizes: (expected_waste(inside, sizes), sizes))
