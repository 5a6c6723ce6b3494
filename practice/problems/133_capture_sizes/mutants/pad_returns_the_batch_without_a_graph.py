# verdict: wrong answer
# diagnosis: above the top the batch size itself was returned; no graph has that size, so the answer is None
def pad_to(bs, sizes):
    return next((s for s in sizes if s >= bs), bs)
