# verdict: wrong answer
# diagnosis: the kernels' fixed time is missing: with launches and bytes alone, a step in one graph comes out far too short
def step_time(launches, kernels, nbytes, launch_ms, kernel_ms, bytes_per_ms):
    return max(launches * launch_ms, nbytes / bytes_per_ms)
