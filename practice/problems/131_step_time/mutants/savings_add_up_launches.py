# verdict: wrong answer
# diagnosis: only the launches were counted: when they are few, the step still takes as long as the GPU works
def savings(kernels, fused_kernels, nbytes, launch_ms, kernel_ms, bytes_per_ms):
    graph, fusion = (kernels - 1) * launch_ms, (kernels - fused_kernels) * launch_ms
    return {"graph": graph, "fusion": fusion, "both": graph + fusion}
