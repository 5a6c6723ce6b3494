# verdict: wrong answer
# diagnosis: eps was added after dividing: `/` and `*` come before `+`, so put mean + eps in parentheses, under the root
@triton.jit
def normed(x, gain, eps, HIDDEN: tl.constexpr):
    x32 = x.to(tl.float32)
    unit = (x32 / tl.sqrt(tl.sum(x32 * x32) / HIDDEN) + eps).to(x.dtype)
    return (unit.to(tl.float32) * gain.to(tl.float32)).to(x.dtype)
