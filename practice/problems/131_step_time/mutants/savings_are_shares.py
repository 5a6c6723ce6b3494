# verdict: wrong answer
# diagnosis: these are shares of the step's time; milliseconds were asked for
_right = savings


def savings(kernels, fused_kernels, nbytes, launch_ms, kernel_ms, bytes_per_ms):
    plain = step_time(kernels, kernels, nbytes, launch_ms, kernel_ms, bytes_per_ms)
    return {name: ms / plain for name, ms in _right(kernels, fused_kernels, nbytes, launch_ms, kernel_ms, bytes_per_ms).items()}
