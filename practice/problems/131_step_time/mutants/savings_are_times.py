# verdict: wrong answer
# diagnosis: these are the times that are left; what is saved was asked for
def savings(kernels, fused_kernels, nbytes, launch_ms, kernel_ms, bytes_per_ms):
    rest = nbytes, launch_ms, kernel_ms, bytes_per_ms
    return {
        "graph": step_time(1, kernels, *rest),
        "fusion": step_time(fused_kernels, fused_kernels, *rest),
        "both": step_time(1, fused_kernels, *rest),
    }
