# verdict: wrong answer
# diagnosis: a value that the step returns was set free after the last piece that reads it; the caller still needs it
_right = last_uses


def last_uses(crossing, results):
    return _right(crossing, [])
