# verdict: wrong answer
# diagnosis: a batch that is itself a captured size fits exactly; it must not move on to the next size (at least bs, not above bs)
def pad_to(bs, sizes):
    return next((s for s in sizes if s > bs), None)
