# verdict: wrong answer
# diagnosis: the step is still 8 at 256 and above; from 256 on it is 16
_right = default_capture_sizes


def default_capture_sizes(*args, **kwargs):
    sizes = _right(*args, **kwargs)
    top = sizes[-1]
    return sorted({*sizes, *range(256, top + 1, 8)})
