# verdict: wrong answer
# diagnosis: the weights of the first call are used in all others
_right = compile_once


def compile_once(step, backend="inductor", compile_sizes=()):
    run, kept = _right(step, backend, compile_sizes), []

    def call(x, *others):
        kept.append(others)
        return run(x, *kept[0])

    return call
