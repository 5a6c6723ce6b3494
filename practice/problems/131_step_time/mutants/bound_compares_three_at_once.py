# verdict: wrong answer
# diagnosis: the CPU's time was compared with each term of the GPU; it must be compared with both together
def bound_by(launches, kernels, nbytes, launch_ms, kernel_ms, bytes_per_ms):
    terms = {"launches": launches * launch_ms, "kernels": kernels * kernel_ms, "bytes": nbytes / bytes_per_ms}
    return max(terms, key=terms.get)
