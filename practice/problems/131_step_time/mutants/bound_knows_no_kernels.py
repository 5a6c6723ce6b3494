# verdict: wrong answer
# diagnosis: the GPU's time was taken for its reading alone: its kernels' fixed time can be the larger part
def bound_by(launches, kernels, nbytes, launch_ms, kernel_ms, bytes_per_ms):
    return "launches" if launches * launch_ms > kernels * kernel_ms + nbytes / bytes_per_ms else "bytes"
