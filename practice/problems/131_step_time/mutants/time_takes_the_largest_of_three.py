# verdict: wrong answer
# diagnosis: the GPU's two terms were compared with each other; its kernels and its reading come one after the other
def step_time(launches, kernels, nbytes, launch_ms, kernel_ms, bytes_per_ms):
    return max(launches * launch_ms, kernels * kernel_ms, nbytes / bytes_per_ms)
