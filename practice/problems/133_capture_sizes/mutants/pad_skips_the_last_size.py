# verdict: wrong answer
# diagnosis: the last size is never looked at: a range or slice ends one too early
def pad_to(bs, sizes):
    return next((s for s in sizes[:-1] if s >= bs), None)
