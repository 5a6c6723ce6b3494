# verdict: wrong answer
# diagnosis: only the first row was looked at; a fault may hit any request
def first_divergence(reference, other):
    far = [0 in diverging_rows(a, b) for a, b in zip(reference, other)]
    return far.index(True) if True in far else None
