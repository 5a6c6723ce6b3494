# verdict: wrong answer
# diagnosis: the result was left in fp32: round it to the dtype of x
@triton.jit
def normed(x, gain, eps, HIDDEN: tl.constexpr):
    x32 = x.to(tl.float32)
    return x32 * tl.rsqrt(tl.sum(x32 * x32) / HIDDEN + eps) * gain.to(tl.float32)
