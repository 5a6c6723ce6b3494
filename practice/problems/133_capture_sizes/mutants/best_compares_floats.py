# verdict: wrong answer
# diagnosis: shares in floating point were compared: rounding makes equal lists unequal; count padded rows in whole numbers
def best_sizes(dist, max_bs, k):
    total = sum(dist.values()) or 1
    p = [dist.get(b, 0) / total for b in range(max_bs + 1)]
    count, weight = [0.0] * (max_bs + 1), [0.0] * (max_bs + 1)
    for b in range(1, max_bs + 1):
        count[b], weight[b] = count[b - 1] + p[b], weight[b - 1] + p[b] * b
    best = {i: (i * count[i] - weight[i], [i]) for i in range(1, max_bs + 1)}
    for m in range(2, k + 1):
        best = {i: min((best[j][0] + i * (count[i] - count[j]) - (weight[i] - weight[j]), [*best[j][1], i])
                       for j in range(m - 1, i)) for i in range(m, max_bs + 1)}
    return best[max_bs][1]
