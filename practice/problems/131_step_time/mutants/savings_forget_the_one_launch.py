# verdict: wrong answer
# diagnosis: the graph's one launch was left out: where the GPU has little to do, it is the step's time
def savings(kernels, fused_kernels, nbytes, launch_ms, kernel_ms, bytes_per_ms):
    rest = nbytes, launch_ms, kernel_ms, bytes_per_ms
    plain = step_time(kernels, kernels, *rest)
    return {
        "graph": plain - step_time(0, kernels, *rest),
        "fusion": plain - step_time(fused_kernels, fused_kernels, *rest),
        "both": plain - step_time(0, fused_kernels, *rest),
    }
