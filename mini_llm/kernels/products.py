"""One product with all that surrounds it, in one kernel: RMSNorm before it; bias, silu or residual after it.

A decode step of a few requests multiplies few rows by every weight of the model. It takes as long as reading
the weights, and what each kernel loses at its start and end: hence few kernels, that start early. Each output
is the sum over one row of weights, in ordinary arithmetic; up to 4 rows this keeps up with the memory. For
more rows tensor cores are needed, and cuBLAS is hard to beat there (`decode_step`).

A norm costs no pass of its own. (x * scale * gain) @ W.T is scale * ((x * gain) @ W.T), with one scale for a
row: every program finds it by itself, from the x that it multiplies anyway.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F

from mini_llm.kernels.launch import inputs_ready, options, runs_kernels, tl, triton


@dataclass(frozen=True)
class Tiling:
    """How a product is cut into programs, each of which takes all of K at once."""

    block_n: int  # outputs per program
    num_warps: int


def product(x, weight, out, *, gain=None, eps=0.0, bias=None, gated=False, residual=None, tiling=None, pdl=False):
    """Compute `product_plain` of the same arguments into `out` [M, N], which may be `residual`; return it.

    `pdl`: see `launch.inputs_ready`. Made for few rows: every row is a variant of its own to compile.
    """
    if not runs_kernels(x):
        return out.copy_(product_plain(x, weight, gain, eps, bias, gated, residual))
    if gated and bias is not None:
        raise ValueError("a gated product has no bias")
    M, K = x.shape
    N = out.shape[1]
    tiling = tiling or default_tiling(K)
    pairs = {x.dtype, weight.dtype, x.dtype if gain is None else gain.dtype} == {torch.bfloat16} and K % 2 == 0
    # a pointer that a flag switches off is never read: anything serves
    gain_or_x, bias_or_x, residual_or_x = (x if each is None else each for each in (gain, bias, residual))
    mean = 1 / K
    if pairs:
        x, weight, gain_or_x = (each.view(torch.int32) for each in (x, weight, gain_or_x))
        K //= 2
    _product[(triton.cdiv(N, tiling.block_n),)](
        x, weight, gain_or_x, bias_or_x, residual_or_x, out, eps, N, mean,
        K=K, BLOCK_K=triton.next_power_of_2(K), M=M, BLOCK_N=tiling.block_n,
        PAIRS=pairs, NORM=gain is not None, BIAS=bias is not None, GATED=gated, ADD=residual is not None, PDL=pdl,
        **options(pdl, tiling.num_warps),
    )  # fmt: skip
    return out


def product_plain(x, weight, gain=None, eps=0.0, bias=None, gated=False, residual=None):
    """x [M, K], weight [N, K] -> fp32 [M, N]: norm(x) @ weight.T + bias, then silu, then + residual.

    `gain` [K]: x is RMS-normed first. `gated`: weight is [2 * N, K], the gate's rows before the others', and
    the result is silu(gate) * up. All of it is fp32, and rounded once, to the type of `out`.
    """
    x32 = x.float()
    if gain is not None:
        x32 = x32 * torch.rsqrt(x32.pow(2).mean(-1, keepdim=True) + eps) * gain.float()
    y = F.linear(x32, weight.float(), None if bias is None else bias.float())
    if gated:
        gate, up = y.chunk(2, dim=-1)
        y = F.silu(gate) * up
    if residual is not None:
        y = y + residual.float()
    return y


def default_tiling(K: int) -> Tiling:
    """For shapes that `tunings` does not know: two outputs per program, 64 to 128 weights per thread."""
    return Tiling(block_n=2, num_warps=1 << max(0, min(3, (K - 1).bit_length() - 10)))


@triton.jit
def _fp32(x, PAIRS: tl.constexpr):
    """x as fp32; where PAIRS, the two bf16 in each word of x, in order, which makes its last dimension twice as long.

    A bf16 is the upper half of an fp32: one shift, one mask. Converted one by one they cost twice as much.
    """
    if PAIRS:
        low, high = x << 16, x & -65536
        return tl.interleave(low.to(tl.float32, bitcast=True), high.to(tl.float32, bitcast=True))
    else:
        return x.to(tl.float32)


@triton.jit
def _product(
    x_ptr, weight_ptr, gain_ptr, bias_ptr, residual_ptr, out_ptr, eps, N, mean,
    K: tl.constexpr, BLOCK_K: tl.constexpr, M: tl.constexpr, BLOCK_N: tl.constexpr, PAIRS: tl.constexpr,
    NORM: tl.constexpr, BIAS: tl.constexpr, GATED: tl.constexpr, ADD: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    """BLOCK_N outputs of all M rows. K counts words, of two bf16 where PAIRS; BLOCK_K is a power of two."""
    n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    is_n, is_k = n < N, k < K
    # All the weights at once: as many bytes on their way as there can be, and before x is needed.
    here = is_n[:, None] & is_k
    weight = tl.load(weight_ptr + n.to(tl.int64)[:, None] * K + k, mask=here, other=0)
    if GATED:
        up_weight = tl.load(weight_ptr + (N + n).to(tl.int64)[:, None] * K + k, mask=here, other=0)
    if NORM:
        gain = tl.load(gain_ptr + k, mask=is_k, other=0)
    if BIAS:
        bias = tl.load(bias_ptr + n, mask=is_n, other=0).to(tl.float32)
    inputs_ready(PDL)

    for m in tl.static_range(M):
        x = _fp32(tl.load(x_ptr + m * K + k, mask=is_k, other=0), PAIRS)
        if ADD:
            residual = tl.load(residual_ptr + m * N + n, mask=is_n, other=0).to(tl.float32)
        if NORM:
            scale = tl.rsqrt(tl.sum(x * x) * mean + eps)
            x = x * _fp32(gain, PAIRS)
        y = tl.sum(_fp32(weight, PAIRS) * x, 1)
        if NORM:
            y = y * scale
        if BIAS:
            y += bias
        if GATED:
            up = tl.sum(_fp32(up_weight, PAIRS) * x, 1)
            if NORM:
                up = up * scale
            y = y / (1 + tl.exp(-y)) * up
        if ADD:
            y += residual
        tl.store(out_ptr + m * N + n, y, mask=is_n)
