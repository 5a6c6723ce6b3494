# verdict: wrong answer
# diagnosis: a graph was taken to make all kernels one: it makes the launches one, and the kernels stay
def savings(kernels, fused_kernels, nbytes, launch_ms, kernel_ms, bytes_per_ms):
    rest = nbytes, launch_ms, kernel_ms, bytes_per_ms
    plain = step_time(kernels, kernels, *rest)
    return {
        "graph": plain - step_time(1, 1, *rest),
        "fusion": plain - step_time(fused_kernels, fused_kernels, *rest),
        "both": plain - step_time(1, fused_kernels, *rest),
    }
