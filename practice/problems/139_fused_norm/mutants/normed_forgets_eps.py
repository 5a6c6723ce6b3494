# verdict: wrong answer
# diagnosis: eps is missing: a row of zeros is divided by zero
@triton.jit
def normed(x, gain, eps, HIDDEN: tl.constexpr):
    x32 = x.to(tl.float32)
    unit = (x32 * tl.rsqrt(tl.sum(x32 * x32) / HIDDEN)).to(x.dtype)
    return (unit.to(tl.float32) * gain.to(tl.float32)).to(x.dtype)
