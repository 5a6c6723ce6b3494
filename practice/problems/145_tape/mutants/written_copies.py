# verdict: wrong answer
# diagnosis: copies of the tensors came back, not the tensors themselves
_right = written_tensors


def written_tensors(func, args, kwargs):
    return [tensor.clone() for tensor in _right(func, args, kwargs)]
