# verdict: error|wrong answer
# diagnosis: the first dimension of the weights was marked as changing; only that of x changes
def compile_once(step, backend="inductor", compile_sizes=()):
    codes = {}

    def run(x, *others):
        size = len(x) if len(x) in (1, *compile_sizes) else None
        if size not in codes:
            codes[size] = torch.compile(_alone(step), backend=backend, dynamic=False, fullgraph=True)
            if size is None:
                for tensor in (x, *others):
                    torch._dynamo.mark_dynamic(tensor, 0)
        return codes[size](x, *others)

    return run
