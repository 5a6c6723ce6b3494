# verdict: error
# diagnosis: pad_to says None for a batch without a graph, and the code computes with it; such a batch wastes nothing
def expected_waste(dist, sizes):
    steps = sum(dist.values())
    return sum(n * (pad_to(bs, sizes) - bs) for bs, n in dist.items()) / steps if steps else 0
