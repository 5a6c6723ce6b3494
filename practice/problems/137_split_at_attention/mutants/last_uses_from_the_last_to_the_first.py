# verdict: wrong answer
# diagnosis: the lists are in the order in which the pieces were looked at, from the last to the first; the list of the first piece comes first
_right = last_uses


def last_uses(crossing, results):
    return _right(crossing, results)[::-1]
