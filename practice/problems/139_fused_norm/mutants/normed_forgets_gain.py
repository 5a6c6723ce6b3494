# verdict: wrong answer
# diagnosis: gain is missing
@triton.jit
def normed(x, gain, eps, HIDDEN: tl.constexpr):
    x32 = x.to(tl.float32)
    return (x32 * tl.rsqrt(tl.sum(x32 * x32) / HIDDEN + eps)).to(x.dtype)
