# verdict: wrong answer
# diagnosis: this is the number of padded rows of all steps together; divide by the number of steps
def expected_waste(dist, sizes):
    return sum(n * (pad_to(bs, sizes) - bs) for bs, n in dist.items() if pad_to(bs, sizes) is not None)
