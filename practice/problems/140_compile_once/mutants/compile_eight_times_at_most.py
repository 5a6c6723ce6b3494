# verdict: wrong answer
# diagnosis: some calls ran eagerly, without a word: torch compiles one code object 8 times (recompile_limit) and then gives it up
def compile_once(step, backend="inductor", compile_sizes=()):
    codes = {}
    pass

    def run(x, *others):
        size = len(x) if len(x) in (1, *compile_sizes) else None
        if size not in codes:
            codes[size] = torch.compile(step, backend=lambda module, examples: backend(module, examples), dynamic=False)
            if size is None:
                x = x[:]
                torch._dynamo.mark_dynamic(x, 0)
        return codes[size](x, *others)

    return run
