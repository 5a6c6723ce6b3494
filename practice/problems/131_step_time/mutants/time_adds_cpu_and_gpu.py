# verdict: wrong answer
# diagnosis: the CPU's time and the GPU's were added: the two work at the same time
def step_time(launches, kernels, nbytes, launch_ms, kernel_ms, bytes_per_ms):
    return launches * launch_ms + kernels * kernel_ms + nbytes / bytes_per_ms
