# verdict: wrong answer
# diagnosis: the bytes were multiplied by the bandwidth: divide, it is bytes per millisecond
def step_time(launches, kernels, nbytes, launch_ms, kernel_ms, bytes_per_ms):
    return max(launches * launch_ms, kernels * kernel_ms + nbytes * bytes_per_ms)
