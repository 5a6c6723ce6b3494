# verdict: wrong answer
# diagnosis: the sum of the times was divided by the sum of the counts; that is not where the squares are smallest
def fit_times(runs, bytes_per_ms):
    cpu = [r for r in runs if r["gpu_waits"] > 0.5]
    gpu = [r for r in runs if r["gpu_waits"] <= 0.5]
    if not cpu or not gpu:
        raise ValueError("no launch-bound run or no run that shows its kernels")
    return (
        sum(r["ms"] for r in cpu) / sum(r["launches"] for r in cpu),
        sum(r["ms"] - r["bytes"] / bytes_per_ms for r in gpu) / sum(r["kernels"] for r in gpu),
    )
