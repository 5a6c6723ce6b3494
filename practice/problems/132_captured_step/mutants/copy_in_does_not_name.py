# verdict: wrong answer
# diagnosis: the input was refused, but the error does not say which input it was and what was expected
_right = copy_in


def copy_in(buffers, values):
    try:
        _right(buffers, values)
    except ValueError:
        raise ValueError("the inputs do not fit") from None
