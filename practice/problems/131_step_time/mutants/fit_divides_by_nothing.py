# verdict: wrong answer
# diagnosis: runs of one kind only end in a division by zero; the error must say which time they do not show
def fit_times(runs, bytes_per_ms):
    cpu = [(r["launches"], r["ms"]) for r in runs if r["gpu_waits"] > 0.5]
    gpu = [(r["kernels"], r["ms"] - r["bytes"] / bytes_per_ms) for r in runs if r["gpu_waits"] <= 0.5]
    return tuple(sum(x * y for x, y in some) / sum(x * x for x, _ in some) for some in (cpu, gpu))
