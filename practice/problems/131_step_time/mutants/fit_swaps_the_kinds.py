# verdict: wrong answer|error
# diagnosis: the two kinds of runs were mixed up: where the GPU waits, the CPU sets the pace
_right = fit_times


def fit_times(runs, bytes_per_ms):
    return _right([r | {"gpu_waits": 1 - r["gpu_waits"]} for r in runs], bytes_per_ms)
