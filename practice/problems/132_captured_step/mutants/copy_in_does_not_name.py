# verdict: wrong answer
# diagnosis: the inputs were refused, but the error does not say all that it should: which input, counted from 0 (`input 0`), and both shapes, `[3]` and not `(3,)`, or both dtypes; or else both numbers of inputs
_right = copy_in


def copy_in(buffers, values):
    try:
        _right(buffers, values)
    except ValueError:
        raise ValueError("the inputs do not fit") from None
