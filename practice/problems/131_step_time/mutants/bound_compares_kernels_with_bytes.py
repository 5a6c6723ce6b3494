# verdict: wrong answer
# diagnosis: counts were compared; compare the two times
def bound_by(launches, kernels, nbytes, launch_ms, kernel_ms, bytes_per_ms):
    if launches * launch_ms > kernels * kernel_ms + nbytes / bytes_per_ms:
        return "launches"
    return "kernels" if kernels > nbytes else "bytes"
