# verdict: wrong answer
# diagnosis: steps above the largest size are left out of the mean; they waste nothing, but they are steps
def expected_waste(dist, sizes):
    fits = {bs: n for bs, n in dist.items() if pad_to(bs, sizes) is not None}
    steps = sum(fits.values())
    return sum(n * (pad_to(bs, sizes) - bs) for bs, n in fits.items()) / steps if steps else 0
