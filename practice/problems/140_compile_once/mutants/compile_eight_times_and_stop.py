# verdict: error|wrong answer
# diagnosis: after 8 compilations of one code object torch raises (because of fullgraph) instead of compiling on
def compile_once(step, backend="inductor", compile_sizes=()):
    codes = {}
    pass

    def run(x, *others):
        size = len(x) if len(x) in (1, *compile_sizes) else None
        if size not in codes:
            codes[size] = torch.compile(step, backend=lambda module, examples: backend(module, examples), dynamic=False, fullgraph=True)
            if size is None:
                x = x[:]
                torch._dynamo.mark_dynamic(x, 0)
        return codes[size](x, *others)

    return run
