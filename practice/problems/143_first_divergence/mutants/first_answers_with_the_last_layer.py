# verdict: wrong answer
# diagnosis: without a divergence the answer is None, not a layer
def first_divergence(reference, other):
    far = [bool(diverging_rows(a, b)) for a, b in zip(reference, other)]
    return far.index(True) if True in far else len(far) - 1
