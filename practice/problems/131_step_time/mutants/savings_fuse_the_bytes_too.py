# verdict: wrong answer
# diagnosis: the bytes were made fewer with the kernels: weights, keys and values are read all the same
def savings(kernels, fused_kernels, nbytes, launch_ms, kernel_ms, bytes_per_ms):
    times = launch_ms, kernel_ms, bytes_per_ms
    plain, fewer = step_time(kernels, kernels, nbytes, *times), nbytes * fused_kernels / kernels
    return {
        "graph": plain - step_time(1, kernels, nbytes, *times),
        "fusion": plain - step_time(fused_kernels, fused_kernels, fewer, *times),
        "both": plain - step_time(1, fused_kernels, fewer, *times),
    }
