# verdict: wrong answer
# diagnosis: "no graph" is answered with 0; it should be None, because 0 reads as a size
def pad_to(bs, sizes):
    return next((s for s in sizes if s >= bs), 0)
