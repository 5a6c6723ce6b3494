# verdict: error
# diagnosis: with no steps at all the code divides by zero; the answer is 0
def expected_waste(dist, sizes):
    rows = sum(n * (pad_to(bs, sizes) - bs) for bs, n in dist.items() if pad_to(bs, sizes) is not None)
    return rows / sum(dist.values())
