# verdict: wrong answer
# diagnosis: the answer is a Counter; a plain dict was asked for
_right = top_level_operators


def top_level_operators(events):
    return Counter(_right(events))
