# verdict: wrong answer
# diagnosis: the row was divided by the mean of the squares; the root of it is missing
@triton.jit
def normed(x, gain, eps, HIDDEN: tl.constexpr):
    x32 = x.to(tl.float32)
    unit = (x32 / (tl.sum(x32 * x32) / HIDDEN + eps)).to(x.dtype)
    return (unit.to(tl.float32) * gain.to(tl.float32)).to(x.dtype)
