# verdict: wrong answer
# diagnosis: the last layer that differs was returned; the first one tells where the fault is
def first_divergence(reference, other):
    far = [bool(diverging_rows(a, b)) for a, b in zip(reference, other)]
    return len(far) - 1 - far[::-1].index(True) if True in far else None
