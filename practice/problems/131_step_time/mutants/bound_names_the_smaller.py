# verdict: wrong answer
# diagnosis: the smaller one was named; what takes longer bounds the step
def bound_by(launches, kernels, nbytes, launch_ms, kernel_ms, bytes_per_ms):
    gpu = kernels * kernel_ms + nbytes / bytes_per_ms
    if launches * launch_ms > gpu:
        return "launches"
    return "kernels" if kernels * kernel_ms < nbytes / bytes_per_ms else "bytes"
