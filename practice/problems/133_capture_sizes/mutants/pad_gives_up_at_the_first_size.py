# verdict: wrong answer
# diagnosis: the loop answers None as soon as the first size is too small; look at all sizes before you give up
def pad_to(bs, sizes):
    for s in sizes:
        if s >= bs:
            return s
        else:
            return None
