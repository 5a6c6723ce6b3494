"""Problem 131 in another style: numpy's least squares, comparisons instead of max."""

import numpy as np


def gpu(kernels, nbytes, kernel_ms, bytes_per_ms):
    return nbytes / bytes_per_ms + kernel_ms * kernels


def step_time(launches, kernels, nbytes, launch_ms, kernel_ms, bytes_per_ms):
    both = [gpu(kernels, nbytes, kernel_ms, bytes_per_ms), launches * launch_ms]
    both.sort()
    return both[-1]


def bound_by(launches, kernels, nbytes, launch_ms, kernel_ms, bytes_per_ms):
    if gpu(kernels, nbytes, kernel_ms, bytes_per_ms) < launches * launch_ms:
        return "launches"
    if nbytes / bytes_per_ms < kernels * kernel_ms:
        return "kernels"
    return "bytes"


def fit_times(runs, bytes_per_ms):
    answer = []
    for what, waiting in (("launches", True), ("kernels", False)):
        chosen = [run for run in runs if (run["gpu_waits"] > 0.5) == waiting]
        if len(chosen) == 0:
            raise ValueError(f"not one run to learn the time of {what} from")
        y = np.array([run["ms"] - (0 if waiting else run["bytes"] / bytes_per_ms) for run in chosen])
        x = np.array([[float(run[what])] for run in chosen])
        answer.append(float(np.linalg.lstsq(x, y, rcond=None)[0][0]))
    return tuple(answer)


def savings(kernels, fused_kernels, nbytes, launch_ms, kernel_ms, bytes_per_ms):
    found = {}
    was = step_time(kernels, kernels, nbytes, launch_ms, kernel_ms, bytes_per_ms)
    for name, launches, left in (
        ("graph", 1, kernels),
        ("fusion", fused_kernels, fused_kernels),
        ("both", 1, fused_kernels),
    ):
        found[name] = was - step_time(launches, left, nbytes, launch_ms, kernel_ms, bytes_per_ms)
    return found
