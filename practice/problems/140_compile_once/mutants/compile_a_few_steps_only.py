# verdict: wrong answer
# diagnosis: functions that come from the same lines share one code object, and so its limit of 8 compilations; after that they run eagerly
def compile_once(step, backend="inductor", compile_sizes=()):
    codes, room = {}, max(8, len(compile_sizes) + 2)

    def run(x, *others):
        size = len(x) if len(x) in (1, *compile_sizes) else None
        if size not in codes:
            one = lambda module, examples: backend(module, examples)
            codes[size] = torch.compile(step, backend=one, dynamic=False)
            if size is None:
                x = x[:]
                torch._dynamo.mark_dynamic(x, 0)
        with torch._dynamo.config.patch(recompile_limit=room):
            return codes[size](x, *others)

    return run
