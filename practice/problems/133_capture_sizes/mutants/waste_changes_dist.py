# verdict: wrong answer
# diagnosis: the function changed the distribution it was given; the caller still needs it
def expected_waste(dist, sizes):
    for bs in list(dist):
        if dist[bs] == 0 or pad_to(bs, sizes) is None:
            dist[sizes[-1] if sizes else 0] = dist.get(sizes[-1] if sizes else 0, 0) + dist.pop(bs)
    steps = sum(dist.values())
    return sum(n * (pad_to(bs, sizes) - bs) for bs, n in dist.items() if pad_to(bs, sizes)) / steps if steps else 0
