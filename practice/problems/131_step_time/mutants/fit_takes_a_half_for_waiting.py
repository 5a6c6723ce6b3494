# verdict: wrong answer
# diagnosis: a run in which the GPU waits for exactly half of the time was taken for one that the CPU set the pace of
def fit_times(runs, bytes_per_ms):
    cpu = [(r["launches"], r["ms"]) for r in runs if r["gpu_waits"] >= 0.5]
    gpu = [(r["kernels"], r["ms"] - r["bytes"] / bytes_per_ms) for r in runs if r["gpu_waits"] < 0.5]
    if not cpu or not gpu:
        raise ValueError("no launch-bound run or no run that shows its kernels")
    return tuple(sum(x * y for x, y in some) / sum(x * x for x, _ in some) for some in (cpu, gpu))
