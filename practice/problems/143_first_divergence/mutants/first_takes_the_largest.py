# verdict: wrong answer
# diagnosis: the layer that differs most was returned; differences grow on their way, the first one is wanted
def first_divergence(reference, other):
    gaps = [(a.double() - b[: len(a)].double()).abs().max() for a, b in zip(reference, other)]
    far = [bool(diverging_rows(a, b)) for a, b in zip(reference, other)]
    return gaps.index(max(gaps)) if True in far else None
