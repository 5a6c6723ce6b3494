# verdict: wrong answer
# diagnosis: the row was multiplied by 1 + gain, as Gemma's norms are; here it is gain
@triton.jit
def normed(x, gain, eps, HIDDEN: tl.constexpr):
    x32 = x.to(tl.float32)
    unit = (x32 * tl.rsqrt(tl.sum(x32 * x32) / HIDDEN + eps)).to(x.dtype)
    return (unit.to(tl.float32) * (1 + gain.to(tl.float32))).to(x.dtype)
