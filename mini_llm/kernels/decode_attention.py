"""Everything between the qkv product and the o product of a decode step, in one kernel.

q and k are normed (Qwen3) and rotated, k and v written to the paged cache, and the new token attends to all
of its request's past and to itself. Its own key and value need no way through memory: the program that has
them at hand starts its softmax with them.

Keys are split over programs as in Flash-Decoding (Dao, Haziza, Massa, Sizov, 2023), but with no second
kernel: the program that finishes last, as a ticket counter tells, puts the parts together. A short context
is one part, and costs nothing for what a long one needs. How many parts there are is read from memory.
"""

import torch
import torch.nn.functional as F

from mini_llm import kernels
from mini_llm.kernels.launch import inputs_ready, options, runs_kernels, tl, triton
from mini_llm.layers import apply_rope, rope_cos_sin

MAX_SPLITS = 16


def rope_table(max_positions: int, head_dim: int, theta: float, device="cpu"):
    """fp32 [max_positions, head_dim]: the cosines of a position's head_dim / 2 angles, then their sines."""
    cos, sin = rope_cos_sin(torch.arange(max_positions, device=device), head_dim, theta)
    half = head_dim // 2
    return torch.cat((cos[:, :half], sin[:, :half]), dim=-1)


class Scratch:
    """Where the parts of `max_batch` rows wait to be put together; no ticket is drawn at first."""

    def __init__(self, max_batch: int, num_heads: int, head_dim: int, device="cpu"):
        shape = (max_batch, num_heads, MAX_SPLITS)
        self.parts = torch.empty(*shape, head_dim, dtype=torch.float32, device=device)
        self.weights = torch.empty(*shape, dtype=torch.float32, device=device)
        self.tickets = torch.zeros(max_batch, num_heads, dtype=torch.int32, device=device)


def decode_attention(
    qkv, kv, layer, q_gain, k_gain, eps, rope, inputs, out, scratch, *, splits=1, keys=64, num_warps=4, pdl=False
):
    """Compute `decode_attention_plain` of the same arguments into `out` [N, nh * hd] and return it.

    `splits`: at most so many programs share the keys of a KV head, a power of two up to MAX_SPLITS. `keys`:
    how many of them a program takes at once. `pdl`: see `launch.inputs_ready`.
    """
    if not runs_kernels(qkv):
        return out.copy_(decode_attention_plain(qkv, kv, layer, q_gain, k_gain, eps, rope, inputs))
    k_cache, v_cache = kv.k[layer], kv.v[layer]
    N = len(qkv)
    block_size, nkv, hd = k_cache.shape[1:]
    nh = out.shape[1] // hd
    _decode_attention[(nkv, splits, N)](
        qkv, k_cache, v_cache, qkv if q_gain is None else q_gain, qkv if k_gain is None else k_gain, rope,
        inputs.positions, inputs.slot_mapping, inputs.seq_lens, inputs.block_table, out,
        scratch.parts, scratch.weights, scratch.tickets, inputs.block_table.stride(0), hd**-0.5, eps,
        NKV=nkv, GROUP=nh // nkv, ROWS=max(16, triton.next_power_of_2(nh // nkv)),
        HD=hd, PADDED_HD=max(16, triton.next_power_of_2(hd)), BLOCK_SIZE=block_size, KEYS=keys, SPLITS=splits,
        MAX_SPLITS=MAX_SPLITS, NORM=q_gain is not None, UPCAST=kernels.INTERPRETED, PDL=pdl, **options(pdl, num_warps),
    )  # fmt: skip
    return out


def decode_attention_plain(qkv, kv, layer, q_gain, k_gain, eps, rope, inputs):
    """qkv [N, (nh + 2 * nkv) * hd], one new token of each of N requests -> attention [N, nh * hd].

    q_gain and k_gain [hd], or None where the model norms no heads; `rope` as `rope_table` makes it. `kv` is a
    PagedKVCache, and gets the new keys and values at `inputs.slot_mapping` [N], where -1 writes nothing.
    `inputs` (StepInputs) also says `positions` [N], `seq_lens` [N], the new token counted, and `block_table`
    [N, W]. A token sees itself whatever these say, so rows of padding are finite.
    """
    N = len(qkv)
    nkv, hd = kv.k[layer].shape[2:]
    q, k, v = qkv.view(N, -1, hd).split((qkv.shape[1] // hd - 2 * nkv, nkv, nkv), dim=1)
    if q_gain is not None:
        q, k = rms_norm_plain(q, q_gain, eps), rms_norm_plain(k, k_gain, eps)
    cos, sin = (half.repeat(1, 2)[:, None] for half in rope[inputs.positions].chunk(2, dim=-1))
    q, k = apply_rope(q, cos, sin), apply_rope(k, cos, sin)

    length = inputs.block_table.shape[1] * kv.block_size
    is_past = torch.arange(length, device=qkv.device) < inputs.seq_lens[:, None] - 1
    unused = ~is_past[:, :, None, None]  # may hold anything, nan too
    past_k, past_v = (
        part[layer][inputs.block_table].view(N, length, nkv, hd).masked_fill(unused, 0) for part in (kv.k, kv.v)
    )
    keys, values = (torch.cat((past, new[:, None]), dim=1).float() for past, new in ((past_k, k), (past_v, v)))
    visible = F.pad(is_past, (0, 1), value=True)
    scores = torch.einsum("nhgd,nshd->nhgs", q.float().view(N, nkv, -1, hd), keys) * hd**-0.5
    weights = scores.masked_fill(~visible[:, None, None], float("-inf")).softmax(dim=-1)
    kv.write(layer, inputs.slot_mapping, k, v)
    return torch.einsum("nhgs,nshd->nhgd", weights, values).reshape(N, -1).to(qkv.dtype)


def rms_norm_plain(x, gain, eps: float):
    """RMSNorm over the last dimension, rounded where `layers.RMSNorm` rounds."""
    x32 = x.float()
    return (x32 * torch.rsqrt(x32.pow(2).mean(-1, keepdim=True) + eps)).to(x.dtype) * gain


@triton.jit
def normed_and_rotated(head_ptr, gain_ptr, cos_ptr, d, is_head, eps, HD: tl.constexpr, NORM: tl.constexpr):
    """The heads at `head_ptr` [heads, 1], with their elements d [1, PADDED_HD], after norm and rotation.

    Rounded wherever the plain layers round: a cache that is written here equals one that they write.
    """
    half: tl.constexpr = HD // 2
    is_d = d < HD
    other = tl.where(d < half, d + half, d - half)  # the dimension that d is rotated with
    here = is_head & is_d
    x = tl.load(head_ptr + d, mask=here, other=0.0)
    partner = tl.load(head_ptr + other, mask=here, other=0.0)
    dtype = x.dtype
    x, partner = x.to(tl.float32), partner.to(tl.float32)
    if NORM:
        scale = tl.rsqrt(tl.sum(x * x, 1) / HD + eps)[:, None]
        gain = tl.load(gain_ptr + d, mask=is_d, other=0.0).to(tl.float32)
        partner_gain = tl.load(gain_ptr + other, mask=is_d, other=0.0).to(tl.float32)
        x = ((x * scale).to(dtype).to(tl.float32) * gain).to(dtype).to(tl.float32)
        partner = ((partner * scale).to(dtype).to(tl.float32) * partner_gain).to(dtype).to(tl.float32)
    cos = tl.load(cos_ptr + d % half, mask=is_d, other=0.0)
    sin = tl.load(cos_ptr + half + d % half, mask=is_d, other=0.0)
    return (x * cos + tl.where(d < half, -partner, partner) * sin).to(dtype)


@triton.jit
def _past(
    k_ptr, v_ptr, table_ptr, position, last, kv_head, d,
    NKV: tl.constexpr, HD: tl.constexpr, BLOCK_SIZE: tl.constexpr,
):  # fmt: skip
    """Keys and values [KEYS, PADDED_HD] at the positions below `last`, zeros elsewhere."""
    is_key = position < last
    block = tl.load(table_ptr + position // BLOCK_SIZE, mask=is_key, other=0)
    slot = block.to(tl.int64) * BLOCK_SIZE + position % BLOCK_SIZE
    offset = (slot * NKV + kv_head)[:, None] * HD + d
    here = is_key[:, None] & (d < HD)
    return tl.load(k_ptr + offset, mask=here, other=0.0), tl.load(v_ptr + offset, mask=here, other=0.0)


@triton.jit
def _decode_attention(
    qkv_ptr, k_ptr, v_ptr, q_gain_ptr, k_gain_ptr, rope_ptr,
    positions_ptr, slots_ptr, seq_lens_ptr, table_ptr, out_ptr, parts_ptr, weights_ptr, tickets_ptr,
    table_stride, scale, eps,
    NKV: tl.constexpr, GROUP: tl.constexpr, ROWS: tl.constexpr, HD: tl.constexpr, PADDED_HD: tl.constexpr,
    BLOCK_SIZE: tl.constexpr, KEYS: tl.constexpr, SPLITS: tl.constexpr, MAX_SPLITS: tl.constexpr,
    NORM: tl.constexpr, UPCAST: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    """One KV head of one request, with its GROUP of query heads (ROWS for tensor cores); one part of the keys."""
    kv_head, split, token = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    past = tl.maximum(tl.load(seq_lens_ptr + token).to(tl.int32) - 1, 0)
    share = tl.maximum(tl.cdiv(tl.cdiv(past, SPLITS), KEYS), 1) * KEYS
    used = tl.maximum(tl.cdiv(past, share), 1)  # parts that hold keys
    if split >= used:
        return
    first = split * share
    last = tl.minimum(first + share, past)

    d, key = tl.arange(0, PADDED_HD)[None, :], tl.arange(0, KEYS)
    is_d = d < HD
    row_table_ptr = table_ptr + token * table_stride
    # The past is the work of earlier steps: its first tile may be loaded before this step's q is there.
    k, v = _past(k_ptr, v_ptr, row_table_ptr, first + key, last, kv_head, d, NKV, HD, BLOCK_SIZE)
    slot = tl.load(slots_ptr + token).to(tl.int64)
    cos_ptr = rope_ptr + tl.load(positions_ptr + token) * HD
    inputs_ready(PDL)

    row = tl.arange(0, ROWS)
    is_row = (row < GROUP)[:, None]
    first_head = kv_head * GROUP
    qkv_ptr += token * (GROUP + 2) * NKV * HD
    q_ptr = qkv_ptr + (first_head + row)[:, None] * HD
    q = normed_and_rotated(q_ptr, q_gain_ptr, cos_ptr, d, is_row, eps, HD, NORM)
    if UPCAST:  # Triton's interpreter would multiply the bits of bfloat16 as whole numbers
        q = q.to(tl.float32)

    # The new token, which the first program takes in and writes down.
    own = split == 0
    new_k_ptr = qkv_ptr + (GROUP * NKV + kv_head + tl.zeros([1, 1], tl.int32)) * HD
    new_k = normed_and_rotated(new_k_ptr, k_gain_ptr, cos_ptr, d, is_d, eps, HD, NORM)
    new_v = tl.load(new_k_ptr + NKV * HD + d, mask=is_d, other=0.0)
    new_offset = (slot * NKV + kv_head) * HD + d
    written = tl.where(own & (slot >= 0), HD, 0)  # elements of it
    tl.store(k_ptr + new_offset, new_k, mask=d < written)
    tl.store(v_ptr + new_offset, new_v, mask=d < written)
    score = tl.sum(q.to(tl.float32) * new_k.to(tl.float32), 1) * scale
    highest = tl.where(own, score, float("-inf"))
    total = tl.where(own, 1.0, 0.0) + tl.zeros([ROWS], tl.float32)
    acc = tl.where(own, new_v.to(tl.float32), 0.0) + tl.zeros([ROWS, PADDED_HD], tl.float32)

    for start in range(first, last, KEYS):
        # the next tile is on its way while this one is used
        position = start + KEYS + key
        next_k, next_v = _past(k_ptr, v_ptr, row_table_ptr, position, last, kv_head, d, NKV, HD, BLOCK_SIZE)
        if UPCAST:
            k, v = k.to(tl.float32), v.to(tl.float32)
        scores = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        scores = tl.where((start + key < last)[None, :], scores, float("-inf"))
        new_highest = tl.maximum(highest, tl.max(scores, 1))
        weight = tl.exp(scores - new_highest[:, None])
        faded = tl.exp(highest - new_highest)
        total = total * faded + tl.sum(weight, 1)
        acc = tl.dot(weight.to(v.dtype), v, acc * faded[:, None], input_precision="ieee")
        highest = new_highest
        k, v = next_k, next_v

    acc = acc / total[:, None]
    first_head += token * NKV * GROUP
    head = first_head + row
    here = is_row & is_d
    if SPLITS == 1:
        tl.store(out_ptr + head[:, None] * HD + d, acc, mask=here)
    elif used == 1:
        tl.store(out_ptr + head[:, None] * HD + d, acc, mask=here)
    else:
        part = head * MAX_SPLITS + split
        tl.store(parts_ptr + part[:, None] * HD + d, acc, mask=here)
        # log of the sum of exp(score): the share of the softmax that this part holds
        tl.store(weights_ptr + part, highest + tl.log(total), mask=row < GROUP)
        tl.debug_barrier()  # all threads of this program have written before its ticket is drawn
        ticket_ptr = tickets_ptr + token * NKV + kv_head
        if tl.atomic_add(ticket_ptr, 1, sem="acq_rel", scope="gpu") == used - 1:
            tl.store(ticket_ptr, 0)  # for the next layer
            tl.debug_barrier()
            for i in tl.static_range(GROUP):
                _combine(parts_ptr, weights_ptr, out_ptr, first_head + i, used, d, HD, SPLITS, MAX_SPLITS)


@triton.jit
def _combine(
    parts_ptr, weights_ptr, out_ptr, head, used, d,
    HD: tl.constexpr, SPLITS: tl.constexpr, MAX_SPLITS: tl.constexpr,
):  # fmt: skip
    """Put the `used` parts of a head together, each weighted by its share of the whole softmax."""
    split, is_d = tl.arange(0, SPLITS), d < HD
    part = head * MAX_SPLITS + split
    # ".cg" reads past the first-level cache, which may not know what other processors wrote
    weight = tl.load(weights_ptr + part, mask=split < used, other=float("-inf"), cache_modifier=".cg")
    weight = tl.exp(weight - tl.max(weight, 0))
    weight = weight / tl.sum(weight, 0)
    here = (split < used)[:, None] & is_d
    parts = tl.load(parts_ptr + part[:, None] * HD + d, mask=here, other=0.0, cache_modifier=".cg")
    tl.store(out_ptr + head * HD + d, tl.sum(parts * weight[:, None], 0, keep_dims=True), mask=is_d)
