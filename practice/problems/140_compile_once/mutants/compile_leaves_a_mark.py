# verdict: wrong answer
# diagnosis: the caller's tensor was marked and keeps the mark: another function that gets it makes its size a symbol too
def compile_once(step, backend="inductor", compile_sizes=()):
    codes = {}

    def run(x, *others):
        size = len(x) if len(x) in (1, *compile_sizes) else None
        if size not in codes:
            codes[size] = torch.compile(_alone(step), backend=backend, dynamic=False, fullgraph=True)
            if size is None:
                torch._dynamo.mark_dynamic(x, 0)
        return codes[size](x, *others)

    return run
