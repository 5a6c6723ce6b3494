# verdict: wrong answer
# diagnosis: the sum was left in fp32: round it to the dtype of x, since the next layer reads the rounded one
@triton.jit
def added(x, delta):
    return x.to(tl.float32) + delta.to(tl.float32)
