# verdict: wrong answer
# diagnosis: the sum of the squares was taken; their mean was asked for
@triton.jit
def normed(x, gain, eps, HIDDEN: tl.constexpr):
    x32 = x.to(tl.float32)
    unit = (x32 * tl.rsqrt(tl.sum(x32 * x32) + eps)).to(x.dtype)
    return (unit.to(tl.float32) * gain.to(tl.float32)).to(x.dtype)
