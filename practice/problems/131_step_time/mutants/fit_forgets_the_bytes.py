# verdict: wrong answer
# diagnosis: the time to read the bytes was not taken away: it went into the kernel time
def fit_times(runs, bytes_per_ms):
    cpu = [(r["launches"], r["ms"]) for r in runs if r["gpu_waits"] > 0.5]
    gpu = [(r["kernels"], r["ms"]) for r in runs if r["gpu_waits"] <= 0.5]
    if not cpu or not gpu:
        raise ValueError("no launch-bound run or no run that shows its kernels")
    return tuple(sum(x * y for x, y in some) / sum(x * x for x, _ in some) for some in (cpu, gpu))
