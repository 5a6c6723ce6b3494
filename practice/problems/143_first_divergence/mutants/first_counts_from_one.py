# verdict: wrong answer
# diagnosis: layers are counted from 0
def first_divergence(reference, other):
    far = [bool(diverging_rows(a, b)) for a, b in zip(reference, other)]
    return far.index(True) + 1 if True in far else None
