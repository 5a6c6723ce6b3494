# verdict: error
# diagnosis: a helper without @triton.jit is called in a kernel: the interpreter runs it, a GPU refuses it
def to_fp32(x):
    return x.to(tl.float32)


@triton.jit
def added(x, delta):
    return (to_fp32(x) + to_fp32(delta)).to(x.dtype)
