# verdict: wrong answer
# diagnosis: the code that was made first serves its own number of rows only: torch.compile takes every size for a number until it has seen another one, and with dynamic=False always
def compile_once(step, backend="inductor", compile_sizes=()):
    codes = {}

    def run(x, *others):
        size = len(x) if len(x) in (1, *compile_sizes) else None
        if size not in codes:
            codes[size] = torch.compile(_alone(step), backend=backend)
        return codes[size](x, *others)

    return run
