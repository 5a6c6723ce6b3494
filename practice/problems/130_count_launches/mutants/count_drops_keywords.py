# verdict: wrong answer|error
# diagnosis: the keyword arguments did not reach the step
_right = count_operators


def count_operators(fn, *args, **kwargs):
    return _right(fn, *args)
