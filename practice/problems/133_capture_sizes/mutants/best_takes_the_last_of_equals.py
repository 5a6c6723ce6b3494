# verdict: wrong answer
# diagnosis: the waste is right, but among lists with the same waste another one comes first in dictionary order
def best_sizes(dist, max_bs, k):
    n = [dist.get(b, 0) for b in range(max_bs + 1)]
    cost = [[sum(n[b] * (i - b) for b in range(j + 1, i + 1)) for i in range(max_bs + 1)] for j in range(max_bs)]
    best = {i: (cost[0][i], [-i]) for i in range(1, max_bs + 1)}
    for m in range(2, k + 1):
        best = {i: min((best[j][0] + cost[j][i], [*best[j][1], -i]) for j in range(m - 1, i))
                for i in range(m, max_bs + 1)}
    return [-s for s in best[max_bs][1]]
