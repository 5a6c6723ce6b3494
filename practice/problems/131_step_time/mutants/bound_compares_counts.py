# verdict: wrong answer
# diagnosis: counts were compared instead of times
def bound_by(launches, kernels, nbytes, launch_ms, kernel_ms, bytes_per_ms):
    if launches >= kernels:
        return "launches"
    return "kernels" if kernels * kernel_ms > nbytes / bytes_per_ms else "bytes"
