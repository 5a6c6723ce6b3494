# verdict: error
# diagnosis: the histogram came alone: wrap it in an OperatorCount
_right = count_operators


def count_operators(fn, *args, **kwargs):
    return _right(fn, *args, **kwargs).histogram
