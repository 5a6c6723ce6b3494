# verdict: wrong answer
# diagnosis: a batch above the largest size counts as negative waste; it runs without a graph and wastes nothing
def expected_waste(dist, sizes):
    steps = sum(dist.values())
    if not steps or not sizes:
        return 0
    return sum(n * ((pad_to(bs, sizes) or sizes[-1]) - bs) for bs, n in dist.items()) / steps
