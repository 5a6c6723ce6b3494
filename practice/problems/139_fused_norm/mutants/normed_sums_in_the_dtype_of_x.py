# verdict: wrong answer
# diagnosis: the squares were rounded to the dtype of x: they lose digits in bfloat16 and overflow in float16
@triton.jit
def normed(x, gain, eps, HIDDEN: tl.constexpr):
    x32 = x.to(tl.float32)
    unit = (x32 * tl.rsqrt(tl.sum(x * x).to(tl.float32) / HIDDEN + eps)).to(x.dtype)
    return (unit.to(tl.float32) * gain.to(tl.float32)).to(x.dtype)
