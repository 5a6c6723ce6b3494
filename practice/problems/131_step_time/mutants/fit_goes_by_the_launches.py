# verdict: wrong answer
# diagnosis: the kind of a run was told by its launches and kernels; `gpu_waits` tells it
_right = fit_times


def fit_times(runs, bytes_per_ms):
    return _right([r | {"gpu_waits": float(r["launches"] >= r["kernels"])} for r in runs], bytes_per_ms)
