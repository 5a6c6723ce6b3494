# verdict: wrong answer
# diagnosis: the mean of the single runs' times was taken; least squares gives long runs more weight
def fit_times(runs, bytes_per_ms):
    cpu = [r["ms"] / r["launches"] for r in runs if r["gpu_waits"] > 0.5]
    gpu = [(r["ms"] - r["bytes"] / bytes_per_ms) / r["kernels"] for r in runs if r["gpu_waits"] <= 0.5]
    if not cpu or not gpu:
        raise ValueError("no launch-bound run or no run that shows its kernels")
    return sum(cpu) / len(cpu), sum(gpu) / len(gpu)
