# verdict: wrong answer
# diagnosis: one row was padded to two and ran in the code for any number; it has code of its own
_right = compile_once


def compile_once(step, backend="inductor", compile_sizes=()):
    run = _right(step, backend, compile_sizes)

    def call(x, *others):
        return run(torch.cat([x, x]), *others)[:1] if len(x) == 1 else run(x, *others)

    return call
