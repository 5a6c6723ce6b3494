# verdict: wrong answer
# diagnosis: the sum was rounded to bfloat16 whatever the dtype of x is
@triton.jit
def added(x, delta):
    return (x.to(tl.float32) + delta.to(tl.float32)).to(tl.bfloat16)
