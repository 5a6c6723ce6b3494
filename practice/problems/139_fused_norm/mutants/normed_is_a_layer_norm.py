# verdict: wrong answer
# diagnosis: the mean was subtracted: that is LayerNorm; RMSNorm leaves the mean in
@triton.jit
def normed(x, gain, eps, HIDDEN: tl.constexpr):
    x32 = x.to(tl.float32)
    mean = tl.sum(x32) / HIDDEN
    variance = tl.sum(x32 * x32) / HIDDEN - mean * mean
    unit = ((x32 - mean) * tl.rsqrt(variance + eps)).to(x.dtype)
    return (unit.to(tl.float32) * gain.to(tl.float32)).to(x.dtype)
