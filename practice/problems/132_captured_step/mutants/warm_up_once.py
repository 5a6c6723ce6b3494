# verdict: wrong answer
# diagnosis: the warm-up ran once, whatever `times` says
_right = warm_up


def warm_up(fn, inputs, times, pool):
    _right(fn, inputs, 1, pool)
