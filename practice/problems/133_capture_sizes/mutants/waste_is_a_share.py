# verdict: wrong answer
# diagnosis: this is the share of padded rows in a step; the mean number of padded rows was asked for
def expected_waste(dist, sizes):
    steps = sum(dist.values())
    fits = [(bs, n, pad_to(bs, sizes)) for bs, n in dist.items() if pad_to(bs, sizes) is not None]
    return sum(n * (size - bs) / size for bs, n, size in fits) / steps if steps else 0
