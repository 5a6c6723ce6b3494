# verdict: wrong answer
# diagnosis: the number of values was not checked: zip stops at the shorter one and says nothing
_right = copy_in


def copy_in(buffers, values):
    n = min(len(buffers), len(values))
    _right(buffers[:n], values[:n])
