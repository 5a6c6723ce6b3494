# verdict: wrong answer
# diagnosis: the faster of the two was taken; a step is over when the slower one is
def step_time(launches, kernels, nbytes, launch_ms, kernel_ms, bytes_per_ms):
    return min(launches * launch_ms, kernels * kernel_ms + nbytes / bytes_per_ms)
