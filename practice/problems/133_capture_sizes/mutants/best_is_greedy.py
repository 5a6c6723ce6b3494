# verdict: wrong answer
# diagnosis: sizes were added one at a time, each the best for that moment (greedy); the best k sizes need not contain the best single one
def best_sizes(dist, max_bs, k):
    inside = {bs: n for bs, n in dist.items() if bs <= max_bs}
    chosen = [max_bs]
    while len(chosen) < k:
        rest = [s for s in range(1, max_bs) if s not in chosen]
        chosen.append(min(rest, key=lambda s: (expected_waste(inside, sorted([*chosen, s])), s)))
    return sorted(chosen)
