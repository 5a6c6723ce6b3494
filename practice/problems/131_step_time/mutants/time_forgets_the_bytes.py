# verdict: wrong answer
# diagnosis: the time to read the bytes is missing
def step_time(launches, kernels, nbytes, launch_ms, kernel_ms, bytes_per_ms):
    return max(launches * launch_ms, kernels * kernel_ms)
