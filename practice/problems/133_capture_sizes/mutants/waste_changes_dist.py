# verdict: wrong answer
# diagnosis: the function changed the distribution it was given; the caller still needs it
_right = expected_waste


def expected_waste(dist, sizes):
    waste = _right(dist, sizes)
    while dist:
        dist.popitem()
    return waste
