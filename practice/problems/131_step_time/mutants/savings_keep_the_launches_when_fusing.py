# verdict: wrong answer
# diagnosis: fusion kept the launches of the plain step: fewer kernels need fewer launches
def savings(kernels, fused_kernels, nbytes, launch_ms, kernel_ms, bytes_per_ms):
    rest = nbytes, launch_ms, kernel_ms, bytes_per_ms
    plain = step_time(kernels, kernels, *rest)
    return {
        "graph": plain - step_time(1, kernels, *rest),
        "fusion": plain - step_time(kernels, fused_kernels, *rest),
        "both": plain - step_time(1, fused_kernels, *rest),
    }
