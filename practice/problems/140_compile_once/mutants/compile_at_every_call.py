# verdict: wrong answer
# diagnosis: the step is compiled anew at every call; the code of the call before is not used again
_right = compile_once


def compile_once(step, backend="inductor", compile_sizes=()):
    return lambda x, *others: _right(step, backend, compile_sizes)(x, *others)
