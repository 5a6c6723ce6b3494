# verdict: wrong answer
# diagnosis: the top itself is missing: a range ends before its stop, so the stop must be top + 1
_right = default_capture_sizes


def default_capture_sizes(*args, **kwargs):
    sizes = _right(*args, **kwargs)
    return sizes[:-1] if sizes[-1] >= 8 and sizes[-1] % 8 == 0 else sizes
