# verdict: wrong answer
# diagnosis: without a divergence the answer is None, not -1
def first_divergence(reference, other):
    far = [bool(diverging_rows(a, b)) for a, b in zip(reference, other)]
    return far.index(True) if True in far else -1
