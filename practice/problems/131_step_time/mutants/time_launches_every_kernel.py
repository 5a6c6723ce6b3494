# verdict: wrong answer
# diagnosis: the CPU's time was made from kernels; in a graph the launches are fewer
def step_time(launches, kernels, nbytes, launch_ms, kernel_ms, bytes_per_ms):
    return max(kernels * launch_ms, kernels * kernel_ms + nbytes / bytes_per_ms)
