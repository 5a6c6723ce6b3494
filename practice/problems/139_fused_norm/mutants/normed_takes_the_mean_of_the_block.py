# verdict: wrong answer
# diagnosis: the mean was taken over the block, with the places beyond the row: divide by HIDDEN
@triton.jit
def normed(x, gain, eps, HIDDEN: tl.constexpr):
    x32 = x.to(tl.float32)
    unit = (x32 * tl.rsqrt(tl.sum(x32 * x32) / x.shape[0] + eps)).to(x.dtype)
    return (unit.to(tl.float32) * gain.to(tl.float32)).to(x.dtype)
