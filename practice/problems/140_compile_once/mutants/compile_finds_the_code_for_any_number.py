# verdict: wrong answer
# diagnosis: a chosen size was served by the code for any number of rows: torch keeps code with the function (its code object), and finds it again whichever torch.compile asks
def compile_once(step, backend="inductor", compile_sizes=()):
    codes = {}
    pass

    def run(x, *others):
        size = len(x) if len(x) in (1, *compile_sizes) else None
        if size not in codes:
            codes[size] = torch.compile(step, backend=backend, dynamic=False)
            if size is None:
                x = x[:]
                torch._dynamo.mark_dynamic(x, 0)
        return codes[size](x, *others)

    return run
