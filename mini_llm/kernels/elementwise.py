"""The small operations between matrix products, each as one kernel: what is left to fuse around cuBLAS.

Eager PyTorch runs 7 kernels for a residual addition and an RMSNorm, and each reads and writes all of x.
Rounded wherever the plain layers round, so the results are the same numbers.
"""

import torch.nn.functional as F

from mini_llm.kernels.decode_attention import normed_and_rotated, rms_norm_plain
from mini_llm.kernels.launch import inputs_ready, options, runs_kernels, tl, triton
from mini_llm.layers import apply_rope


def add_rms_norm(x, delta, gain, eps, out, *, pdl=False):
    """x [N, hidden] += delta, in place, then `out` = RMSNorm(x) * gain; return `out`. delta may be None."""
    if not runs_kernels(x):
        return add_rms_norm_plain(x, delta, gain, eps, out)
    N, hidden = x.shape
    block = triton.next_power_of_2(hidden)
    _add_rms_norm[(N,)](
        x, x if delta is None else delta, gain, out, eps, HIDDEN=hidden, BLOCK=block, ADD=delta is not None,
        PDL=pdl, **options(pdl, num_warps=min(8, max(1, block // 256))),
    )  # fmt: skip
    return out


def add_rms_norm_plain(x, delta, gain, eps, out):
    """What `add_rms_norm` computes."""
    if delta is not None:
        x.add_(delta)
    return out.copy_(rms_norm_plain(x, gain, eps))


def silu_mul(gate_up, out, *, pdl=False):
    """silu(gate) * up of gate_up [N, 2 * inter], the gates first, into `out` [N, inter]; return `out`."""
    if not runs_kernels(gate_up):
        return silu_mul_plain(gate_up, out)
    N, inter = out.shape
    block = min(1024, triton.next_power_of_2(inter))
    _silu_mul[(N, triton.cdiv(inter, block))](
        gate_up, out, INTER=inter, BLOCK=block, PDL=pdl, **options(pdl, num_warps=min(4, max(1, block // 256)))
    )
    return out


def silu_mul_plain(gate_up, out):
    """What `silu_mul` computes."""
    gate, up = gate_up.chunk(2, dim=-1)
    return out.copy_(F.silu(gate) * up)


def norm_rope_write(qkv, kv, layer, q_gain, k_gain, eps, rope, positions, slot_mapping, out, *, pdl=False):
    """Norm and rotate q and k, write k and v to the cache, q to `out` [N, nh * hd]; return `out`.

    For batches of any kind: qkv [N, (nh + 2 * nkv) * hd] are tokens of any requests, at `positions` [N].
    q_gain and k_gain [hd] may be None: no norm. `rope` as `decode_attention.rope_table` makes it. `kv` is a
    PagedKVCache; a token whose `slot_mapping` is -1 writes nothing.
    """
    if not runs_kernels(qkv):
        return norm_rope_write_plain(qkv, kv, layer, q_gain, k_gain, eps, rope, positions, slot_mapping, out)
    nkv, hd = kv.k[layer].shape[2:]
    group = out.shape[1] // hd // nkv
    _norm_rope_write[(len(qkv), nkv)](
        qkv, kv.k[layer], kv.v[layer], qkv if q_gain is None else q_gain, qkv if k_gain is None else k_gain, rope,
        positions, slot_mapping, out, eps, GROUP=group, ROWS=triton.next_power_of_2(group), HD=hd,
        PADDED_HD=triton.next_power_of_2(hd), NORM=q_gain is not None, PDL=pdl, **options(pdl, num_warps=1),
    )  # fmt: skip
    return out


def norm_rope_write_plain(qkv, kv, layer, q_gain, k_gain, eps, rope, positions, slot_mapping, out):
    """What `norm_rope_write` computes."""
    nkv, hd = kv.k[layer].shape[2:]
    q, k, v = qkv.view(len(qkv), -1, hd).split((out.shape[1] // hd, nkv, nkv), dim=1)
    if q_gain is not None:
        q, k = rms_norm_plain(q, q_gain, eps), rms_norm_plain(k, k_gain, eps)
    cos, sin = (half.repeat(1, 2)[:, None] for half in rope[positions].chunk(2, dim=-1))
    kv.write(layer, slot_mapping, apply_rope(k, cos, sin), v)
    return out.copy_(apply_rope(q, cos, sin).flatten(1))


@triton.jit
def _add_rms_norm(
    x_ptr, delta_ptr, gain_ptr, out_ptr, eps,
    HIDDEN: tl.constexpr, BLOCK: tl.constexpr, ADD: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    """One row."""
    k = tl.arange(0, BLOCK)
    is_k = k < HIDDEN
    offset = tl.program_id(0) * HIDDEN + k
    gain = tl.load(gain_ptr + k, mask=is_k, other=0.0).to(tl.float32)
    inputs_ready(PDL)
    x = tl.load(x_ptr + offset, mask=is_k, other=0.0)
    dtype = x.dtype
    if ADD:
        delta = tl.load(delta_ptr + offset, mask=is_k, other=0.0)
        x = (x.to(tl.float32) + delta.to(tl.float32)).to(dtype)
        tl.store(x_ptr + offset, x, mask=is_k)
    x = x.to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x) / HIDDEN + eps)
    tl.store(out_ptr + offset, (x * scale).to(dtype).to(tl.float32) * gain, mask=is_k)


@triton.jit
def _silu_mul(gate_up_ptr, out_ptr, INTER: tl.constexpr, BLOCK: tl.constexpr, PDL: tl.constexpr):
    """BLOCK elements of one row."""
    row, k = tl.program_id(0), tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    is_k = k < INTER
    inputs_ready(PDL)
    gate = tl.load(gate_up_ptr + row * 2 * INTER + k, mask=is_k, other=0.0)
    up = tl.load(gate_up_ptr + row * 2 * INTER + INTER + k, mask=is_k, other=0.0)
    gate32 = gate.to(tl.float32)
    gate32 = (gate32 / (1 + tl.exp(-gate32))).to(gate.dtype).to(tl.float32)
    tl.store(out_ptr + row * INTER + k, gate32 * up.to(tl.float32), mask=is_k)


@triton.jit
def _norm_rope_write(
    qkv_ptr, k_ptr, v_ptr, q_gain_ptr, k_gain_ptr, rope_ptr, positions_ptr, slots_ptr, out_ptr, eps,
    GROUP: tl.constexpr, ROWS: tl.constexpr, HD: tl.constexpr, PADDED_HD: tl.constexpr,
    NORM: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    """One KV head of one token, with its GROUP of query heads."""
    token, kv_head, nkv = tl.program_id(0).to(tl.int64), tl.program_id(1), tl.num_programs(1)
    d, row = tl.arange(0, PADDED_HD)[None, :], tl.arange(0, ROWS)[:, None]
    is_d, is_row = d < HD, row < GROUP
    inputs_ready(PDL)
    cos_ptr = rope_ptr + tl.load(positions_ptr + token) * HD
    slot = tl.load(slots_ptr + token).to(tl.int64)
    qkv_ptr += token * nkv * (GROUP + 2) * HD
    head = kv_head * GROUP + row
    q = normed_and_rotated(qkv_ptr + head * HD, q_gain_ptr, cos_ptr, d, is_row, eps, HD, NORM)
    tl.store(out_ptr + (token * nkv * GROUP + head) * HD + d, q, mask=is_row & is_d)

    new_k_ptr = qkv_ptr + (nkv * GROUP + kv_head + tl.zeros([1, 1], tl.int32)) * HD
    new_k = normed_and_rotated(new_k_ptr, k_gain_ptr, cos_ptr, d, is_d, eps, HD, NORM)
    new_v = tl.load(new_k_ptr + nkv * HD + d, mask=is_d, other=0.0)
    offset = (slot * nkv + kv_head) * HD + d
    written = tl.where(slot >= 0, HD, 0)  # elements of it
    tl.store(k_ptr + offset, new_k, mask=d < written)
    tl.store(v_ptr + offset, new_v, mask=d < written)
