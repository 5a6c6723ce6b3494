"""A residual addition and the RMSNorm after it as one Triton kernel: what a fused kernel is, to write once yourself.

Eager PyTorch runs seven operators for the two, and most read and write all of x. This one reads a row once, does it all
in registers, and writes it once. The engine runs its own, in `kernels/elementwise.py`, which can also start early.
"""

import torch

from mini_llm.kernels import why_no_triton
from mini_llm.kernels.launch import tl, triton


def fused_add_rms_norm(x: torch.Tensor, delta: torch.Tensor, gain: torch.Tensor, eps: float) -> torch.Tensor:
    """x [N, hidden] += delta, in place; return RMSNorm(x) * gain, of x's shape and dtype. gain is [hidden].

    All three are contiguous. Raises RuntimeError where no Triton kernel can run.
    """
    if why := why_no_triton(x.device):
        raise RuntimeError(f"fused_add_rms_norm is a Triton kernel, and {why}.")
    rows, hidden = x.shape
    out = torch.empty_like(x)
    _add_rms_norm[(rows,)](x, delta, gain, out, eps, HIDDEN=hidden, BLOCK=triton.next_power_of_2(hidden))
    return out


@triton.jit
def _add_rms_norm(x_ptr, delta_ptr, gain_ptr, out_ptr, eps, HIDDEN: tl.constexpr, BLOCK: tl.constexpr):
    """One row: the loads and stores. A block holds a power of two of numbers; those beyond HIDDEN are 0."""
    k = tl.arange(0, BLOCK)
    is_k = k < HIDDEN
    offset = tl.program_id(0) * HIDDEN + k
    x = tl.load(x_ptr + offset, mask=is_k, other=0.0)
    delta = tl.load(delta_ptr + offset, mask=is_k, other=0.0)
    gain = tl.load(gain_ptr + k, mask=is_k, other=0.0)
    total = added(x, delta)
    tl.store(x_ptr + offset, total, mask=is_k)
    tl.store(out_ptr + offset, normed(total, gain, eps, HIDDEN), mask=is_k)


@triton.jit
def added(x, delta):
    """x + delta, number by number, for two blocks of one dtype: added in fp32, rounded to that dtype."""
    return (x.to(tl.float32) + delta.to(tl.float32)).to(x.dtype)


@triton.jit
def normed(x, gain, eps, HIDDEN: tl.constexpr):
    """RMSNorm(x) * gain of a row, in x's dtype.

    x and gain are blocks of one dtype that hold HIDDEN numbers and then zeros. The root of the mean square, with eps
    added to the mean, is taken in fp32. x divided by it is rounded to x's dtype, and then multiplied by gain.
    """
    x32 = x.to(tl.float32)
    scale = tl.rsqrt(tl.sum(x32 * x32) / HIDDEN + eps)
    return ((x32 * scale).to(x.dtype).to(tl.float32) * gain.to(tl.float32)).to(x.dtype)
