# verdict: wrong answer
# diagnosis: bfloat16 blocks were added as they are: the interpreter adds their bits, so convert both to fp32 first
@triton.jit
def added(x, delta):
    # what the interpreter makes of x + delta, written so that a GPU does it too
    return (x.to(tl.int16, bitcast=True) + delta.to(tl.int16, bitcast=True)).to(x.dtype, bitcast=True)
