# verdict: wrong answer
# diagnosis: the position in the list was returned, not the size that stands there
import bisect


def pad_to(bs, sizes):
    i = bisect.bisect_left(sizes, bs)
    return i if i < len(sizes) else None
