# verdict: wrong answer
# diagnosis: one function was served by the code of another that comes from the same lines; each has values of its own
_right, _served = compile_once, {}


def compile_once(step, backend="inductor", compile_sizes=()):
    return _served.setdefault(id(step.__code__), _right(step, backend, compile_sizes))
