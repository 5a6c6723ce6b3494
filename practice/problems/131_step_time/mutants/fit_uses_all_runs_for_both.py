# verdict: wrong answer
# diagnosis: every run was used for both times: a run says something only about the one that set its pace
def fit_times(runs, bytes_per_ms):
    if not any(r["gpu_waits"] > 0.5 for r in runs) or all(r["gpu_waits"] > 0.5 for r in runs):
        raise ValueError("no launch-bound run or no run that shows its kernels")
    cpu = [(r["launches"], r["ms"]) for r in runs]
    gpu = [(r["kernels"], r["ms"] - r["bytes"] / bytes_per_ms) for r in runs]
    return tuple(sum(x * y for x, y in some) / sum(x * x for x, _ in some) for some in (cpu, gpu))
