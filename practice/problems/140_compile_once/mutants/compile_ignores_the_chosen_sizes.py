# verdict: wrong answer
# diagnosis: the sizes in compile_sizes have no code of their own
_right = compile_once


def compile_once(step, backend="inductor", compile_sizes=()):
    return _right(step, backend)
