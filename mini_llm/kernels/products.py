"""One product with all that surrounds it, in one kernel: RMSNorm before it; bias, silu or residual after it.

A decode step of a small batch multiplies few rows by every weight of the model, so it takes as long as
reading the weights, plus what each kernel loses at its start and end. Hence few kernels, and these. Two of
them, for the same definition:

- `rows` computes each output as a sum over one row of weights, with ordinary arithmetic. At 1 to 4 rows
  that keeps up with memory, and no operand has to be brought into the shape that tensor cores want.
- `tiles` uses tensor cores, which take 16 rows at the price of one.

A norm costs no pass of its own. (x * scale * gain) @ W.T is scale * ((x * gain) @ W.T), with one scale for a
row: every program finds it by itself, from the x that it multiplies anyway.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F

from mini_llm.kernels.launch import inputs_ready, options, runs_kernels, tl, triton


@dataclass(frozen=True)
class Tiling:
    """How a product is cut into programs. `block_k` is used by tiles only: rows take all of K at once."""

    kernel: str  # "rows" or "tiles"
    block_n: int  # outputs per program
    num_warps: int
    block_k: int = 128
    block_m: int = 16
    num_stages: int = 3


def product(x, weight, out, *, gain=None, eps=0.0, bias=None, gated=False, residual=None, tiling=None, pdl=False):
    """Compute `product_plain` of the same arguments into `out` [M, N], which may be `residual`; return it.

    `tiling` is chosen by shape where it is None. `pdl`: see `launch.inputs_ready`.
    """
    if not runs_kernels(x):
        return out.copy_(product_plain(x, weight, gain, eps, bias, gated, residual))
    if gated and bias is not None:
        raise ValueError("a gated product has no bias")
    M, K = x.shape
    N = out.shape[1]
    tiling = tiling or default_tiling(M)
    flags = dict(
        NORM=gain is not None, BIAS=bias is not None, GATED=gated, ADD=residual is not None, PDL=pdl,
        **options(pdl, tiling.num_warps, tiling.num_stages),
    )  # fmt: skip
    # a pointer that a flag switches off is never read: anything serves
    tensors = (x, weight, x if gain is None else gain, x if bias is None else bias)
    tensors += (x if residual is None else residual, out)
    if tiling.kernel == "rows":
        _rows[(triton.cdiv(N, tiling.block_n),)](
            *tensors, eps, N, K=K, BLOCK_K=triton.next_power_of_2(K), M=M, BLOCK_N=tiling.block_n, **flags
        )
    else:
        block_k = min(tiling.block_k, max(16, triton.next_power_of_2(K)))
        grid = (triton.cdiv(N, tiling.block_n), triton.cdiv(M, tiling.block_m))
        _tiles[grid](*tensors, eps, N, M, K=K, BLOCK_K=block_k, BLOCK_M=tiling.block_m, BLOCK_N=tiling.block_n, **flags)
    return out


def product_plain(x, weight, gain=None, eps=0.0, bias=None, gated=False, residual=None):
    """x [M, K], weight [N, K] -> fp32 [M, N]: norm(x) @ weight.T + bias, then silu, then + residual.

    `gain` [K]: x is RMS-normed first. `gated`: weight is [2 * N, K], the gate's rows before the others', and
    the result is silu(gate) * up. All of it is fp32, and rounded once, to the type of `out`.
    """
    x32, weight32 = x.float(), weight.float()
    if gain is not None:
        x32 = x32 * torch.rsqrt(x32.pow(2).mean(-1, keepdim=True) + eps) * gain.float()
    y = F.linear(x32, weight32, None if bias is None else bias.float())
    if gated:
        gate, up = y.chunk(2, dim=-1)
        y = F.silu(gate) * up
    if residual is not None:
        y = y + residual.float()
    return y


def default_tiling(M: int) -> Tiling:
    """A tiling that works for any shape; `tunings` has better ones for shapes that were measured."""
    if M <= 4:
        return Tiling("rows", block_n=2, num_warps=4)
    return Tiling("tiles", block_n=32, num_warps=4, block_m=min(64, max(16, triton.next_power_of_2(M))))


@triton.jit
def _rows(
    x_ptr, weight_ptr, gain_ptr, bias_ptr, residual_ptr, out_ptr, eps, N,
    K: tl.constexpr, BLOCK_K: tl.constexpr, M: tl.constexpr, BLOCK_N: tl.constexpr,
    NORM: tl.constexpr, BIAS: tl.constexpr, GATED: tl.constexpr, ADD: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    """BLOCK_N outputs of all M rows. BLOCK_K is K, rounded up to a power of two."""
    n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    is_n, is_k = n < N, k < K
    # All the weights at once: as many bytes on their way as there can be, and before x is needed.
    here = is_n[:, None] & is_k
    weight = tl.load(weight_ptr + n.to(tl.int64)[:, None] * K + k, mask=here, other=0.0)
    if GATED:
        up_weight = tl.load(weight_ptr + (N + n).to(tl.int64)[:, None] * K + k, mask=here, other=0.0)
    if NORM:
        gain = tl.load(gain_ptr + k, mask=is_k, other=0.0).to(tl.float32)
    if BIAS:
        bias = tl.load(bias_ptr + n, mask=is_n, other=0.0).to(tl.float32)
    inputs_ready(PDL)

    for m in tl.static_range(M):
        x = tl.load(x_ptr + m * K + k, mask=is_k, other=0.0).to(tl.float32)
        if ADD:
            residual = tl.load(residual_ptr + m * N + n, mask=is_n, other=0.0).to(tl.float32)
        if NORM:
            scale = tl.rsqrt(tl.sum(x * x) / K + eps)
            x = x * gain
        y = tl.sum(weight.to(tl.float32) * x, 1)
        if NORM:
            y = y * scale
        if BIAS:
            y += bias
        if GATED:
            up = tl.sum(up_weight.to(tl.float32) * x, 1)
            if NORM:
                up = up * scale
            y = y / (1 + tl.exp(-y)) * up
        if ADD:
            y += residual
        tl.store(out_ptr + m * N + n, y, mask=is_n)


@triton.jit
def _tiles(
    x_ptr, weight_ptr, gain_ptr, bias_ptr, residual_ptr, out_ptr, eps, N, M,
    K: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
    NORM: tl.constexpr, BIAS: tl.constexpr, GATED: tl.constexpr, ADD: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    """BLOCK_M rows of BLOCK_N outputs, BLOCK_K of the sum at a time, each while the next is loaded."""
    n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    m = tl.program_id(1) * BLOCK_M + tl.arange(0, BLOCK_M)
    is_n, is_m = n < N, m < M
    weight_row = weight_ptr + n.to(tl.int64) * K
    up_weight_row = weight_ptr + (N + n).to(tl.int64) * K
    y = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    up = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    squares = tl.zeros([BLOCK_M], tl.float32)
    inputs_ready(PDL)

    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        is_k = k < K
        x = tl.load(x_ptr + m[:, None] * K + k, mask=is_m[:, None] & is_k, other=0.0)
        here = is_k[:, None] & is_n
        weight = tl.load(weight_row + k[:, None], mask=here, other=0.0)
        if NORM:
            x32 = x.to(tl.float32)
            squares += tl.sum(x32 * x32, 1)
            gain = tl.load(gain_ptr + k, mask=is_k, other=0.0).to(tl.float32)
            x = (x32 * gain).to(x.dtype)
        y = tl.dot(x, weight, y, input_precision="ieee")
        if GATED:
            up_weight = tl.load(up_weight_row + k[:, None], mask=here, other=0.0)
            up = tl.dot(x, up_weight, up, input_precision="ieee")

    if NORM:
        scale = tl.rsqrt(squares / K + eps)[:, None]
        y, up = y * scale, up * scale
    if BIAS:
        y += tl.load(bias_ptr + n, mask=is_n, other=0.0).to(tl.float32)
    if GATED:
        y = y / (1 + tl.exp(-y)) * up
    here = is_m[:, None] & is_n
    offset = m[:, None] * N + n
    if ADD:
        y += tl.load(residual_ptr + offset, mask=here, other=0.0).to(tl.float32)
    tl.store(out_ptr + offset, y, mask=here)
