# verdict: wrong answer
# diagnosis: a batch above the largest size was given the largest graph; it has more rows than that graph, so the answer is None
def pad_to(bs, sizes):
    return next((s for s in sizes if s >= bs), sizes[-1] if sizes else None)
