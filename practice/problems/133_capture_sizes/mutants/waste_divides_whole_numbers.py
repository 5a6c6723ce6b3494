# verdict: wrong answer
# diagnosis: the mean was rounded down to a whole number (// instead of /)
def expected_waste(dist, sizes):
    steps = sum(dist.values())
    rows = sum(n * (pad_to(bs, sizes) - bs) for bs, n in dist.items() if pad_to(bs, sizes) is not None)
    return rows // steps if steps else 0
