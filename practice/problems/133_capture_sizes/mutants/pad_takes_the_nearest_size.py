# verdict: wrong answer
# diagnosis: the nearest size was taken, also when it is smaller than the batch; rows can be added, not left out
def pad_to(bs, sizes):
    if not sizes or bs > sizes[-1]:
        return None
    return min(sizes, key=lambda s: (abs(s - bs), -s))
