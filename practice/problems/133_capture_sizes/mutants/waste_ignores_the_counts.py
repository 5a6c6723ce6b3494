# verdict: wrong answer
# diagnosis: every batch size counts once; weight each by the number of steps that had it
def expected_waste(dist, sizes):
    steps = len([n for n in dist.values() if n])
    rows = sum(pad_to(bs, sizes) - bs for bs, n in dist.items() if n and pad_to(bs, sizes) is not None)
    return rows / steps if steps else 0
