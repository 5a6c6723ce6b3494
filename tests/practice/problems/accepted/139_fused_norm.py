"""Problem 139 in another style: a helper of its own, a division, a conversion at each step."""

import triton
import triton.language as tl


@triton.jit
def up(block):
    return block.to(tl.float32)


@triton.jit
def added(x, delta):
    total = up(x)
    total += up(delta)
    return total.to(x.dtype)


@triton.jit
def normed(x, gain, eps, HIDDEN: tl.constexpr):
    squares = up(x) * up(x)
    mean = tl.sum(squares, axis=0) / HIDDEN
    unit = up(x) / tl.sqrt(mean + eps)
    unit = unit.to(x.dtype)
    result = up(unit) * up(gain)
    return result.to(gain.dtype)
