# verdict: wrong answer
# diagnosis: both together were given the sum of what each saves alone: a launch can be saved only once
_right = savings


def savings(kernels, fused_kernels, nbytes, launch_ms, kernel_ms, bytes_per_ms):
    found = _right(kernels, fused_kernels, nbytes, launch_ms, kernel_ms, bytes_per_ms)
    return found | {"both": found["graph"] + found["fusion"]}
