# verdict: wrong answer
# diagnosis: only the first of the chosen sizes has code for exactly that number of rows; at the second, torch.compile made the size a symbol by itself (dynamic=None)
def compile_once(step, backend="inductor", compile_sizes=()):
    codes = {}

    def run(x, *others):
        kind = "one" if len(x) == 1 else "chosen" if len(x) in compile_sizes else "any"
        if kind not in codes:
            codes[kind] = torch.compile(_alone(step), backend=backend)
            if kind == "any":
                x = x[:]
                torch._dynamo.mark_dynamic(x, 0)
        return codes[kind](x, *others)

    return run
