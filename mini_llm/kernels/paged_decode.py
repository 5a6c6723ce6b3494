"""Paged attention for a few query tokens per request, with the keys of each split over the GPU.

A decode step has one query per request and many keys. One program per query and KV head would leave most
of a GPU idle, and the longest context would set the time. So the keys are split: each program computes a
part of them, with its own softmax, and a second kernel combines the parts, each weighted by the share of
the whole softmax that it holds (Flash-Decoding; Dao, Haziza, Massa, Sizov, 2023).

Lengths, tables and bounds are read from memory: a captured launch serves any batch of its size.
"""

import torch
import triton
import triton.language as tl

TILE = 64  # keys per step of the loop


def paged_decode(
    q, k_cache, v_cache, block_table, seq_lens, query_start_loc=None, query_len: int = 0, max_seq_len=None,
    num_splits: int | None = None,
):  # fmt: skip
    """Causal attention: q [N, nh, hd] -> [N, nh, hd], in q's dtype; zeros for rows that see no key.

    k_cache, v_cache [num_blocks, block_size, n_kv, hd]; block_table [R, W] and seq_lens [R], int64. Either
    `query_len` rows belong to each request in turn, or `query_start_loc` [R + 1] tells, which costs every
    program a search. `max_seq_len`, where it is known, keeps short contexts from being split too far.
    """
    if num_splits is None:
        longest = max_seq_len or block_table.shape[1] * k_cache.shape[1]
        num_splits = _splits(len(q) * k_cache.shape[2], longest, q.device)
    if query_start_loc is None:
        query_start_loc = seq_lens  # never read
    return _paged_decode(q, k_cache, v_cache, block_table, seq_lens, query_start_loc, query_len, num_splits)


def _splits(programs: int, longest: int, device) -> int:
    """As many parts as give every processor of the GPU two programs; no more than there are tiles."""
    processors = torch.cuda.get_device_properties(device).multi_processor_count if device.type == "cuda" else 1
    wanted = max(1, min(2 * processors // programs, triton.cdiv(longest, TILE), 64))
    return 4 ** ((wanted.bit_length() - 1) // 2)  # a power of four: few variants to compile


# One operator, so that a tape or a compiler sees a kernel with its arguments, not the launch's innards.
@torch.library.custom_op("mini_llm::paged_decode", mutates_args=())
def _paged_decode(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    block_table: torch.Tensor,
    seq_lens: torch.Tensor,
    query_start_loc: torch.Tensor,
    query_len: int,
    num_splits: int,
) -> torch.Tensor:
    q = q.contiguous()
    N, nh, hd = q.shape
    nkv = k_cache.shape[2]
    out = torch.empty_like(q)
    parts, weights = out, out  # not used where one program sees all keys
    if num_splits > 1:
        parts = torch.empty(N, nh, num_splits, hd, dtype=torch.float32, device=q.device)
        weights = torch.empty(N, nh, num_splits, dtype=torch.float32, device=q.device)
    padded_hd = max(16, triton.next_power_of_2(hd))
    _attend_split[N, nkv, num_splits](
        q, k_cache, v_cache, block_table, seq_lens, query_start_loc, out, parts, weights,
        num_reqs=len(seq_lens), table_stride=block_table.stride(0), scale=hd**-0.5,
        QUERY_LEN=query_len, SEARCH=0 if query_len else len(seq_lens).bit_length(), BLOCK_SIZE=k_cache.shape[1],
        GROUP=nh // nkv, ROWS=max(16, triton.next_power_of_2(nh // nkv)), HD=hd, PADDED_HD=padded_hd,
        KEYS=TILE, SPLITS=num_splits, UPCAST=q.device.type == "cpu",
    )  # fmt: skip
    if num_splits > 1:
        _combine[N, nh](parts, weights, out, SPLITS=num_splits, HD=hd, PADDED_HD=padded_hd)
    return out


@_paged_decode.register_fake
def _(q, k_cache, v_cache, block_table, seq_lens, query_start_loc, query_len, num_splits):
    return torch.empty_like(q)


@triton.jit(do_not_specialize=["num_reqs"])
def _attend_split(
    q_ptr, k_ptr, v_ptr, table_ptr, seq_lens_ptr, bounds_ptr, out_ptr, parts_ptr, weights_ptr,
    num_reqs, table_stride, scale,
    QUERY_LEN: tl.constexpr, SEARCH: tl.constexpr, BLOCK_SIZE: tl.constexpr,
    GROUP: tl.constexpr, ROWS: tl.constexpr, HD: tl.constexpr, PADDED_HD: tl.constexpr,
    KEYS: tl.constexpr, SPLITS: tl.constexpr, UPCAST: tl.constexpr,
):  # fmt: skip
    """One query token, one KV head with its group of query heads, one part of the keys."""
    token, kv_head, split = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    nkv = tl.num_programs(1)

    # which request the token belongs to, and how many of that request's keys it sees
    if QUERY_LEN > 0:
        request = token // QUERY_LEN
        seen = tl.load(seq_lens_ptr + request) - (QUERY_LEN - 1 - token % QUERY_LEN)
    else:
        low, high = token * 0, token * 0 + num_reqs  # the first request that ends after the token
        for _ in range(SEARCH):
            middle = (low + high) // 2
            undecided = low < high
            end = tl.load(bounds_ptr + middle + 1, mask=undecided, other=0)
            low = tl.where(undecided & (end <= token), middle + 1, low)
            high = tl.where(undecided & (end > token), middle, high)
        request = tl.minimum(low, num_reqs - 1)
        seen = tl.load(seq_lens_ptr + request) - (tl.load(bounds_ptr + request + 1) - 1 - token)
        seen = tl.where(low < num_reqs, seen, 0)  # after the last request: padding
    share = tl.cdiv(tl.cdiv(seen, SPLITS), KEYS) * KEYS
    first = split * share
    last = tl.minimum(first + share, seen)

    row, d = tl.arange(0, ROWS), tl.arange(0, PADDED_HD)
    head = kv_head * GROUP + row
    is_row, is_d = row < GROUP, d < HD
    row_offset = token * nkv * GROUP + head  # of q, out; times HD
    q = tl.load(q_ptr + row_offset[:, None] * HD + d, mask=is_row[:, None] & is_d, other=0.0)
    if UPCAST:
        q = q.to(tl.float32)

    highest = tl.full([ROWS], float("-inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    acc = tl.zeros([ROWS, PADDED_HD], tl.float32)
    for start in range(first, last, KEYS):
        position = start + tl.arange(0, KEYS)
        is_key = position < last
        block = tl.load(table_ptr + request * table_stride + position // BLOCK_SIZE, mask=is_key, other=0)
        slot = block * BLOCK_SIZE + position % BLOCK_SIZE
        offset = (slot * nkv + kv_head)[:, None] * HD + d
        here = is_key[:, None] & is_d
        k = tl.load(k_ptr + offset, mask=here, other=0.0)
        v = tl.load(v_ptr + offset, mask=here, other=0.0)
        if UPCAST:  # Triton's interpreter would multiply the bits of bfloat16 as whole numbers
            k, v = k.to(tl.float32), v.to(tl.float32)
        scores = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        scores = tl.where(is_key[None, :], scores, float("-inf"))
        new_highest = tl.maximum(highest, tl.max(scores, 1))
        weight = tl.exp(scores - new_highest[:, None])
        faded = tl.exp(highest - new_highest)
        total = total * faded + tl.sum(weight, 1)
        acc = acc * faded[:, None] + tl.dot(weight.to(v.dtype), v, input_precision="ieee")
        highest = new_highest

    acc = acc / tl.where(total > 0, total, 1.0)[:, None]
    if SPLITS == 1:
        tl.store(out_ptr + row_offset[:, None] * HD + d, acc, mask=is_row[:, None] & is_d)
    else:
        part = row_offset * SPLITS + split
        tl.store(parts_ptr + part[:, None] * HD + d, acc, mask=is_row[:, None] & is_d)
        # log of the sum of exp(score) over this part; -inf when it holds no key
        tl.store(weights_ptr + part, highest + tl.log(total), mask=is_row)


@triton.jit
def _combine(parts_ptr, weights_ptr, out_ptr, SPLITS: tl.constexpr, HD: tl.constexpr, PADDED_HD: tl.constexpr):
    """One query token, one query head: the parts, each weighted by its share of the softmax."""
    row = tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)
    split, d = tl.arange(0, SPLITS), tl.arange(0, PADDED_HD)
    weight = tl.load(weights_ptr + row * SPLITS + split)
    highest = tl.max(weight, 0)
    weight = tl.where(weight > float("-inf"), tl.exp(weight - highest), 0.0)
    part = (row * SPLITS + split)[:, None] * HD + d
    parts = tl.load(parts_ptr + part, mask=(d < HD)[None, :], other=0.0)
    out = tl.sum(parts * weight[:, None], 0) / tl.maximum(tl.sum(weight, 0), 1e-30)
    tl.store(out_ptr + row * HD + d, out, mask=d < HD)
