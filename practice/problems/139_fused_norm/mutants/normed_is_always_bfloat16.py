# verdict: wrong answer
# diagnosis: the row was rounded to bfloat16 whatever the dtype of x is
@triton.jit
def normed(x, gain, eps, HIDDEN: tl.constexpr):
    x32 = x.to(tl.float32)
    unit = (x32 * tl.rsqrt(tl.sum(x32 * x32) / HIDDEN + eps)).to(tl.bfloat16)
    return (unit.to(tl.float32) * gain.to(tl.float32)).to(x.dtype)
