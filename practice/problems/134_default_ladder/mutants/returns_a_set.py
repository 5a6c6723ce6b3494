# verdict: wrong answer
# diagnosis: the sizes came as a set; return an ascending list
_right = default_capture_sizes


def default_capture_sizes(*args, **kwargs):
    return set(_right(*args, **kwargs))
