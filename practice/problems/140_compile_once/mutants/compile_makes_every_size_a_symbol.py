# verdict: wrong answer
# diagnosis: sizes that never change became symbols too, such as the width of x (dynamic=True does that); the compiler then knows less than it could
def compile_once(step, backend="inductor", compile_sizes=()):
    codes = {}

    def run(x, *others):
        size = len(x) if len(x) in (1, *compile_sizes) else None
        if size not in codes:
            codes[size] = torch.compile(_alone(step), backend=backend, dynamic=size is None)
        return codes[size](x, *others)

    return run
