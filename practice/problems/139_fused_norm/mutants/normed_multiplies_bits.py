# verdict: wrong answer
# diagnosis: bfloat16 blocks were multiplied as they are: the interpreter multiplies their bits, so convert both to fp32 first
@triton.jit
def normed(x, gain, eps, HIDDEN: tl.constexpr):
    x32 = x.to(tl.float32)
    unit = (x32 * tl.rsqrt(tl.sum(x32 * x32) / HIDDEN + eps)).to(x.dtype)
    # what the interpreter makes of unit * gain, written so that a GPU does it too
    return (unit.to(tl.int16, bitcast=True) * gain.to(tl.int16, bitcast=True)).to(x.dtype, bitcast=True)
