"""Blocks, slots, and the cache they point into; the plain attention over it."""

import random

import pytest
import torch
import torch.nn.functional as F

from mini_llm import BlockPool, PagedKVCache, paged_attention, slot_mapping_for

GPU = pytest.param("cuda", marks=[
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
])  # fmt: skip
each_device = pytest.mark.parametrize("device", ["cpu", GPU])


def close(a, b, tolerance=1e-5):
    assert a.shape == b.shape
    return bool((a - b).abs().max() <= tolerance)  # nan is not close to anything


# --- blocks ---------------------------------------------------------------------------------------


def test_blocks_come_in_order_and_freed_ones_last():
    pool = BlockPool(5)
    assert pool.allocate(2) == [0, 1] and pool.num_free() == 3
    pool.free([1])
    assert pool.allocate(3) == [2, 3, 4]
    pool.free([3, 0])
    assert pool.allocate(3) == [1, 3, 0] and pool.num_free() == 0


def test_all_or_nothing():
    pool = BlockPool(3)
    assert pool.allocate(4) is None and pool.num_free() == 3
    assert pool.allocate(0) == [] and pool.allocate(3) == [0, 1, 2]
    assert pool.allocate(1) is None and pool.allocate(0) == []
    with pytest.raises(ValueError, match="cannot allocate -1 blocks"):
        pool.allocate(-1)


@pytest.mark.parametrize(
    "blocks, message",
    [
        ([2], "cannot free block 2: it is free already"),
        ([0, 1, 0], "cannot free block 0: it is free already"),
        ([0, 7], "cannot free block 7: the pool has blocks 0 to 3"),
        ([-1], "cannot free block -1: the pool has blocks 0 to 3"),
    ],
)
def test_what_was_not_handed_out_cannot_be_freed(blocks, message):
    pool = BlockPool(4)
    pool.allocate(2)
    with pytest.raises(ValueError, match=message):
        pool.free(blocks)
    # nothing was freed, not even the blocks that were right
    assert pool.num_free() == 2
    pool.free([0, 1])
    assert pool.num_free() == 4


def test_freeing_twice_is_refused():
    pool = BlockPool(2)
    blocks = pool.allocate(2)
    pool.free(blocks)
    with pytest.raises(ValueError, match="free already"):
        pool.free(blocks)


def test_no_block_is_ever_handed_out_twice():
    rng, pool, held = random.Random(0), BlockPool(50), []
    for _ in range(500):
        if held and rng.random() < 0.5:
            pool.free(held.pop(rng.randrange(len(held))))
        else:
            blocks = pool.allocate(rng.randrange(8))
            held += [blocks] if blocks is not None else []
        used = [block for blocks in held for block in blocks]
        assert len(used) == len(set(used)) == 50 - pool.num_free()


# --- slots ----------------------------------------------------------------------------------------


def test_slots():
    assert slot_mapping_for([7, 2, 5], range(6), 2) == [14, 15, 4, 5, 10, 11]
    assert slot_mapping_for([3], [15], 16) == [63]
    assert slot_mapping_for([3], [], 16) == []
    assert type(slot_mapping_for([3], [1], 16)) is list


@pytest.mark.parametrize("position", [8, -1])
def test_a_position_outside_the_table_is_refused(position):
    with pytest.raises(ValueError, match="do not fit into 2 blocks of 4, which hold 8|do not fit"):
        slot_mapping_for([7, 2], [position], 4)


# --- the cache ------------------------------------------------------------------------------------


def cache(num_blocks=6, block_size=4, dtype=torch.float32, device="cpu"):
    return PagedKVCache(2, num_blocks, block_size, num_kv_heads=3, head_dim=8, dtype=dtype, device=device)


def some(n, dtype=torch.float32, device="cpu"):
    return torch.randn(n, 3, 8, dtype=dtype, device=device), torch.randn(n, 3, 8, dtype=dtype, device=device)


@each_device
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_what_is_written_is_gathered(dtype, device):
    kv = cache(dtype=dtype, device=device)
    assert [part.shape for part in (*kv.k, *kv.v)] == [(6, 4, 3, 8)] * 4
    table, (k, v) = [5, 1, 3], some(10, dtype, device)
    slots = torch.tensor(slot_mapping_for(table, range(10), 4), device=device)
    # in another order, and in two parts
    order = torch.randperm(10)
    for part in (order[:7], order[7:]):
        kv.write(1, slots[part], k[part], v[part])
    for length in (0, 1, 9, 10):
        keys, values = kv.gather(1, table, length)
        assert torch.equal(keys, k[:length]) and torch.equal(values, v[:length])
    assert torch.equal(kv.k[1][5, 2], k[2]) and torch.equal(kv.v[1][1, 0], v[4])
    # another layer, and blocks of nobody, are as they were
    assert not kv.k[0].any() and not kv.v[0].any() and not kv.k[1][[0, 2, 4]].any()


@each_device
def test_vllm_43810_slot_minus_one_writes_nothing(device):
    kv = cache(device=device)
    for part in (*kv.k, *kv.v):
        part.normal_()
    before = [part.clone() for part in (*kv.k, *kv.v)]
    nan = torch.full((5, 3, 8), float("nan"), device=device)
    kv.write(0, torch.full((5,), -1, device=device), nan, nan)
    assert all(torch.equal(a, b) for a, b in zip(before, (*kv.k, *kv.v), strict=True))
    # nor does it disturb what is written beside it, the first and the very last slot included
    k, v = some(4, device=device)
    kv.write(1, torch.tensor([-1, 0, -1, 23], device=device), k, v)
    before[1].view(-1, 3, 8)[[0, 23]] = k[[1, 3]]
    before[3].view(-1, 3, 8)[[0, 23]] = v[[1, 3]]
    assert all(torch.equal(a, b) for a, b in zip(before, (*kv.k, *kv.v), strict=True))


def test_vllm_13418_more_slots_than_keys_is_an_error():
    kv, (k, v) = cache(), some(3)
    for slots, keys, values in ((4, k, v), (3, k[:1], v), (3, k, v[:1])):
        with pytest.raises(ValueError, match="slots for"):
            kv.write(0, torch.arange(slots), keys, values)
    assert not kv.k[0].any() and not kv.v[0].any()


def test_writing_casts_to_the_cache_s_dtype():
    kv, (k, v) = cache(dtype=torch.bfloat16), some(2)
    kv.write(0, torch.tensor([3, 4]), k, v)
    assert torch.equal(kv.k[0].view(-1, 3, 8)[3:5], k.bfloat16())


def test_writing_moves_nothing():
    kv = cache()
    addresses = [part.data_ptr() for part in (*kv.k, *kv.v)]
    kv.write(0, torch.tensor([3, -1]), *some(2))
    assert addresses == [part.data_ptr() for part in (*kv.k, *kv.v)]
    assert all(part.is_contiguous() for part in (*kv.k, *kv.v))


def test_gathering_beyond_the_table_is_refused():
    with pytest.raises(ValueError, match="9 positions do not fit into 2 blocks of 4, which hold 8"):
        cache().gather(0, [1, 2], 9)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_writing_never_waits_for_the_gpu():
    kv, slots, (k, v) = cache(device="cuda"), torch.tensor([3, -1], device="cuda"), some(2, device="cuda")
    torch.cuda.set_sync_debug_mode("error")
    try:
        kv.write(0, slots, k, v)
    finally:
        torch.cuda.set_sync_debug_mode("default")


# --- the plain attention --------------------------------------------------------------------------


@each_device
def test_attention_of_a_mixed_batch(device):
    """Against PyTorch's own, one request at a time, with nan in every slot that nobody wrote."""
    torch.manual_seed(0)
    kv, nh = cache(num_blocks=12, device=device), 6
    for part in (*kv.k, *kv.v):
        part.fill_(float("nan"))
    # (positions in all, new ones among them, blocks)
    requests = [(1, 1, [4]), (7, 1, [9, 2]), (5, 5, [1, 0]), (11, 4, [11, 5, 3])]
    bounds = [0, 1, 2, 7, 11]
    q = torch.randn(11, nh, 8, device=device)
    expected = torch.empty_like(q)
    for r, (length, new, table) in enumerate(requests):
        k, v = some(length, device=device)
        kv.write(1, torch.tensor(slot_mapping_for(table, range(length), 4), device=device), k, v)
        k, v = (each.transpose(0, 1).repeat_interleave(2, dim=0) for each in (k, v))
        whole = torch.zeros(nh, length, 8, device=device)
        whole[:, length - new :] = q[bounds[r] : bounds[r + 1]].transpose(0, 1)
        out = F.scaled_dot_product_attention(whole, k, v, is_causal=True, scale=0.3)
        expected[bounds[r] : bounds[r + 1]] = out[:, length - new :].transpose(0, 1)
    lengths, _, tables = zip(*requests, strict=True)
    assert close(paged_attention(q, kv, 1, tables, lengths, bounds, 0.3), expected)
    # rows after the last request are padding
    padded = paged_attention(torch.cat([q, q]), kv, 1, tables, lengths, bounds, 0.3)
    assert close(padded, torch.cat([expected, torch.zeros_like(q)]))


def test_attention_keeps_the_dtype():
    kv = cache(dtype=torch.bfloat16)
    kv.write(0, torch.tensor([4]), *some(1))
    out = paged_attention(torch.randn(1, 3, 8, dtype=torch.bfloat16), kv, 0, [[1]], [1], [0, 1], 1.0)
    assert out.dtype == torch.bfloat16 and torch.equal(out[0], kv.v[0][1, 0])
