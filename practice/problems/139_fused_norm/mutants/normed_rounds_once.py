# verdict: wrong answer
# diagnosis: the row was rounded only after gain: round it before too, as the plain layer does
@triton.jit
def normed(x, gain, eps, HIDDEN: tl.constexpr):
    x32 = x.to(tl.float32)
    return (x32 * tl.rsqrt(tl.sum(x32 * x32) / HIDDEN + eps) * gain.to(tl.float32)).to(x.dtype)
