# verdict: wrong answer
# diagnosis: "no graph" is answered with -1; it should be None, because -1 reads as a number
def pad_to(bs, sizes):
    return next((s for s in sizes if s >= bs), -1)
