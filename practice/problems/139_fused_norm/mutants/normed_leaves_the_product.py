# verdict: wrong answer
# diagnosis: the product with gain was left in fp32: round it to the dtype of x, too
@triton.jit
def normed(x, gain, eps, HIDDEN: tl.constexpr):
    x32 = x.to(tl.float32)
    row = (x32 * tl.rsqrt(tl.sum(x32 * x32) / HIDDEN + eps)).to(x.dtype)
    return row.to(tl.float32) * gain.to(tl.float32)
