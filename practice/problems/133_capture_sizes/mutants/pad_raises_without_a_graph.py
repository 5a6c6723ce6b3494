# verdict: error
# diagnosis: when no size is large enough, or none is captured, the code raises; it should return None (nano-vllm pull request 216 is this mistake)
def pad_to(bs, sizes):
    return next(s for s in sizes if s >= bs)


def expected_waste(dist, sizes):
    steps = sum(dist.values())
    rows = sum(n * (min(s for s in sizes if s >= bs) - bs) for bs, n in dist.items() if sizes and bs <= sizes[-1])
    return rows / steps if steps else 0
