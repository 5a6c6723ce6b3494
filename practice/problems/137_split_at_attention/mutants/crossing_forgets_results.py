# verdict: wrong answer
# diagnosis: what the step returns does not come out of the piece that makes it
_right = crossing_values


def crossing_values(calls, numbers, results):
    return _right(calls, numbers, [])
