# verdict: wrong answer
# diagnosis: the warning does not name both numbers: the top that was asked for, and the rung it was cut to
import warnings as _warnings

_right = default_capture_sizes


def default_capture_sizes(*args, **kwargs):
    with _warnings.catch_warnings(record=True) as caught:
        _warnings.simplefilter("always")
        sizes = _right(*args, **kwargs)
    if caught:
        _warnings.warn("the top is no rung: it was cut")
    return sizes
