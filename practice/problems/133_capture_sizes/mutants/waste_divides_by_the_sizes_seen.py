# verdict: wrong answer
# diagnosis: the sum is divided by the number of batch sizes in dist; divide by the number of steps, the sum of the counts
def expected_waste(dist, sizes):
    rows = sum(n * (pad_to(bs, sizes) - bs) for bs, n in dist.items() if pad_to(bs, sizes) is not None)
    return rows / len(dist) if sum(dist.values()) else 0
