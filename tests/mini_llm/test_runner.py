"""Flat batches: built, padded into fixed buffers, run. The logits are those of the base Transformer."""

import pytest
import torch

from mini_llm import BlockPool, Config, ModelRunner, PagedKVCache, Transformer, build_batch
from mini_llm.batch import Run, StepBuffers

CFG = Config(101, 48, 80, 3, 6, 2, qk_norm=True)
GPU = pytest.param("cuda", marks=[
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
])  # fmt: skip
each_device = pytest.mark.parametrize("device", ["cpu", GPU])


def a_model(cfg=CFG, device="cpu", dtype=torch.float32):
    model = Transformer.random(cfg, dtype, device, seed=2)
    for weight in model.parameters():
        if weight.ndim == 2:
            weight.data.mul_(12)  # sharp enough that a wrong key shows
    return model


def agree(ours, theirs, tolerance=1e-4):
    assert ours.shape == theirs.shape
    return bool((ours - theirs).abs().max() <= tolerance * theirs.abs().max())  # nan never agrees


def a_cache(cfg=CFG, num_blocks=40, block_size=4, device="cpu", dtype=torch.float32):
    kv = PagedKVCache(cfg.num_hidden_layers, num_blocks, block_size, cfg.num_key_value_heads, cfg.hd, dtype, device)
    for part in (*kv.k, *kv.v):
        part.fill_(float("nan"))  # whoever reads a slot that was not written will show it
    return kv


# --- build_batch ----------------------------------------------------------------------------------


def test_a_batch_of_every_kind():
    batch = build_batch(
        [([7], 5, [3, 1], True), ([1, 2, 3], 0, [4], True), ([9, 9], 4, [6, 2], False), ([8], 0, [5], True)], 4
    )
    assert batch.input_ids.tolist() == [7, 1, 2, 3, 9, 9, 8]
    assert batch.positions.tolist() == [5, 0, 1, 2, 4, 5, 0]
    assert batch.slot_mapping.tolist() == [5, 16, 17, 18, 8, 9, 20]
    assert batch.query_start_loc == [0, 1, 4, 6, 7]
    assert batch.seq_lens == [6, 3, 6, 1]
    assert batch.block_tables == [[3, 1], [4], [6, 2], [5]]
    assert batch.logits_indices.tolist() == [0, 3, 6]
    for tensor in (batch.input_ids, batch.positions, batch.slot_mapping, batch.logits_indices):
        assert tensor.dtype == torch.long and tensor.ndim == 1


def test_nobody_wants_logits():
    batch = build_batch([([7], 0, [1], False)], 4)
    assert batch.logits_indices.shape == (0,) and batch.logits_indices.dtype == torch.long


@pytest.mark.parametrize(
    "items, message",
    [
        ([], "at least one request"),
        ([([1], 0, [1], True), ([], 3, [2], True)], "request 1 of the batch has no tokens"),
        ([([1, 2], 3, [1], True)], "5 positions do not fit into 1 blocks of 4, which hold 4"),
        ([([1], 0, [], True)], "1 positions do not fit into 0 blocks"),
    ],
)
def test_what_cannot_be_a_batch(items, message):
    with pytest.raises(ValueError, match=message):
        build_batch(items, 4)


def batch_of(query_lens, num_computed=2):
    """Requests with so many tokens each, on blocks of their own."""
    return build_batch(
        [([1] * n, num_computed, [10 * r + i for i in range(9)], True) for r, n in enumerate(query_lens)], 4
    )


def test_runs_of_requests_with_equally_many_tokens():
    assert batch_of([1, 1, 1, 3, 3, 1]).runs == (
        Run(0, 3, 0, 3, query_len=1, max_seq_len=3),
        Run(3, 5, 3, 9, query_len=3, max_seq_len=5),
        Run(5, 6, 9, 10, query_len=1, max_seq_len=3),
    )
    assert batch_of([2, 2]).query_len() == 2 and batch_of([5]).query_len() == 5
    assert batch_of([1, 1, 2]).query_len() is None and batch_of([1, 2, 1]).query_len() is None


# --- the buffers ----------------------------------------------------------------------------------


def as_lists(inputs):
    names = "input_ids positions slot_mapping seq_lens query_start_loc block_table logits_indices".split()
    return {name: getattr(inputs, name).tolist() for name in names}


@each_device
def test_set_pads_with_what_does_no_harm(device):
    buffers = StepBuffers(16, 6, 3, device)
    assert buffers.view(16).slot_mapping.tolist() == [-1] * 16, "warming up must not write to the cache"
    batch = build_batch([([7], 5, [3, 1], True), ([1, 2, 3], 0, [4], False)], 4)
    inputs = buffers.set(batch, 6, 4)
    expected = {
        "input_ids": [7, 1, 2, 3, 0, 0],
        "positions": [5, 0, 1, 2, 0, 0],
        "slot_mapping": [5, 16, 17, 18, -1, -1],
        "seq_lens": [6, 3, 0, 0],
        "query_start_loc": [0, 1, 4, 4, 4],
        "block_table": [[3, 1, 0], [4, 0, 0], [0, 0, 0], [0, 0, 0]],
        "logits_indices": [0],
    }
    assert as_lists(inputs) == expected
    assert inputs.runs == batch.runs and inputs.batch is batch
    # a graph of this size finds the same, and nothing that would hold it to this batch
    view = buffers.view(6, 4)
    assert as_lists(view) == expected | {"logits_indices": [0, 0, 0, 0]}
    assert view.runs is None and view.batch is None
    assert buffers.view(6, 3, uniform=True).runs == (Run(0, 3, 0, 6, query_len=2, max_seq_len=None),)


@each_device
def test_nano_vllm_190_nothing_of_a_longer_batch_stays(device):
    """Stale columns of the block table, stale rows of everything."""
    buffers = StepBuffers(16, 6, 9, device)
    for values in buffers._tensors.values():
        values.fill_(77)
    for values in buffers._arrays.values():
        values.fill(77)
    buffers.set(build_batch([([5] * 3, 20, [1, 2, 3, 4, 5, 6], True)] * 4, 4))
    buffers.set(build_batch([([7], 1, [9], True)], 4), 2)
    assert as_lists(buffers.view(2)) == {
        "input_ids": [7, 0],
        "positions": [1, 0],
        "slot_mapping": [37, -1],
        "seq_lens": [2, 0],
        "query_start_loc": [0, 1, 1],
        "block_table": [[9] + [0] * 8, [0] * 9],
        "logits_indices": [0, 0],
    }


@each_device
def test_vllm_33638_buffers_keep_their_addresses(device):
    buffers = StepBuffers(16, 6, 3, device)
    names = "input_ids positions slot_mapping seq_lens query_start_loc block_table".split()

    def addresses(inputs):
        return [getattr(inputs, name).data_ptr() for name in names]

    expected = addresses(buffers.view(16))
    for size in (1, 5, 16):
        assert addresses(buffers.view(size)) == expected
        assert addresses(buffers.set(batch_of_one(), size)) == expected
    assert addresses(buffers.set(batch_of_one())) == expected


def batch_of_one():
    return build_batch([([7], 0, [1], True)], 4)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_set_allocates_nothing_and_waits_for_nothing():
    buffers, batch = StepBuffers(16, 6, 9, "cuda"), batch_of([1, 1, 3])
    buffers.set(batch, 8)
    allocations = torch.cuda.memory_stats()["allocation.all.allocated"]
    torch.cuda.set_sync_debug_mode("error")
    try:
        for size in (8, 5, 16):
            buffers.set(batch, size)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert torch.cuda.memory_stats()["allocation.all.allocated"] == allocations


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_step_that_is_not_fetched_yet_is_not_overwritten():
    buffers = StepBuffers(4096, 6, 9, "cuda")
    seen = []
    for token in range(50):
        inputs = buffers.set(build_batch([([token], 0, [1], True)], 4))
        torch.cuda._sleep(2_000_000)  # about 1 ms: the GPU is behind
        seen.append(inputs.input_ids.clone())
    assert torch.cat(seen).tolist() == list(range(50))


def test_tensorrt_llm_10688_and_transformers_30351_what_does_not_fit_is_refused():
    buffers = StepBuffers(8, 3, 3)
    buffers.set(batch_of_one(), 8)
    before = as_lists(buffers.view(8))

    def refused(message, *args, **options):
        with pytest.raises(ValueError, match=message):
            buffers.set(*args, **options)
        assert as_lists(buffers.view(8)) == before

    small = [([1], 0, [1], True)]
    refused("9 tokens of 1 requests are more than the buffers hold", build_batch([([1] * 9, 0, [1, 2, 3], True)], 4))
    refused("4 tokens of 4 requests are more than the buffers hold", build_batch(small * 4, 4))
    refused("a request has 4 blocks, and the buffers hold 3", build_batch([([1], 12, [1, 2, 3, 4], True)], 4))
    # more than the graph was captured for
    refused("3 tokens of 3 requests do not fit into a step of 2 tokens", build_batch(small * 3, 4), 2)
    refused("2 tokens of 2 requests do not fit into a step of 4 tokens of 1", build_batch(small * 2, 4), 4, 1)
    with pytest.raises(ValueError, match="9 tokens of 3 requests are more than the buffers hold"):
        buffers.view(9)


def test_torchtitan_3685_a_uniform_graph_refuses_a_mixed_batch():
    buffers = StepBuffers(8, 4, 9)
    for query_lens in ([1, 1, 2], [2, 2], [3]):
        with pytest.raises(ValueError, match=r"1 token\(s\) per request cannot take this batch"):
            buffers.set(batch_of(query_lens), 4, 4, uniform=True)
    buffers.set(batch_of([1, 1, 1]), 4, 4, uniform=True)
    buffers.set(batch_of([2, 2]), 8, 4, uniform=True)


# --- the runner -----------------------------------------------------------------------------------


@each_device
@pytest.mark.parametrize(
    "cfg",
    [CFG, Config(101, 48, 80, 2, 6, 6), Config(101, 48, 80, 2, 6, 2, attention_bias=True, head_dim=16)],
    ids=["qk-norm", "a-kv-head-each", "bias"],
)
def test_one_request_in_chunks_equals_the_base_model(cfg, device):
    model, kv = a_model(cfg, device), a_cache(cfg, device=device)
    runner, ids = ModelRunner(model, kv), torch.randint(0, 101, (13,)).tolist()
    expected, done = model(torch.tensor([ids], device=device))[0], 0
    for chunk in (5, 1, 4, 1, 1, 1):
        batch = build_batch([(ids[done : done + chunk], done, [3, 9, 1, 17], True)], 4)
        done += chunk
        assert agree(runner.forward(batch), expected[done - 1 : done])


@each_device
def test_requests_come_and_go_in_mixed_batches(device):
    """Prefill, chunks and decode side by side, blocks given back and taken again: each as if it were alone."""
    torch.manual_seed(3)
    model, kv, pool = a_model(device=device), a_cache(num_blocks=14, device=device), BlockPool(14)
    pool.allocate(1)  # the null block
    runner = ModelRunner(model, kv)
    ids = [torch.randint(0, 101, (length,)).tolist() for length in (9, 14, 3, 20, 6, 11)]
    waiting, running, checked = list(range(6)), {}, 0
    steps = iter([4, 1, 7, 2, 1, 3, 5, 1, 1, 9] * 20)
    while waiting or running:
        while waiting and (blocks := pool.allocate(-(-len(ids[waiting[0]]) // 4))) is not None:
            running[waiting.pop(0)] = [0, blocks]
        items, ends = [], []
        for r, (done, blocks) in running.items():
            chunk = ids[r][done : done + next(steps)]
            items.append((chunk, done, blocks, True))
            running[r][0] += len(chunk)
            ends.append((r, running[r][0]))
        logits = runner.forward(build_batch(items, 4))
        for row, (r, end) in zip(logits, ends, strict=True):
            expected = model(torch.tensor([ids[r][:end]], device=device))[0, -1]
            assert agree(row, expected), (r, end)
            checked += 1
            if end == len(ids[r]):
                pool.free(running.pop(r)[1])
    assert checked > 15 and pool.num_free() == 13


def test_only_the_logits_that_are_wanted():
    runner = ModelRunner(a_model(), a_cache())
    first, second = ([5, 6, 7], 0, [1], True), ([8, 9], 0, [2], True)
    both = runner.forward(build_batch([first, second], 4))
    assert both.shape == (2, 101) and both.dtype == torch.float32
    only = runner.forward(build_batch([(*first[:3], False), second], 4))
    assert agree(only, both[1:])
    assert runner.forward(build_batch([(*first[:3], False)], 4)).shape == (0, 101)


@each_device
def test_bf16(device):
    model, kv = a_model(device=device, dtype=torch.bfloat16), a_cache(device=device, dtype=torch.bfloat16)
    ids = [5, 80, 3, 44, 21]
    ours = ModelRunner(model, kv).forward(build_batch([(ids, 0, [3, 9], True)], 4))
    assert agree(ours, model(torch.tensor([ids], device=device))[0, -1:], 0.05)


def test_running_records_no_gradients():
    model = a_model().requires_grad_(True)
    kv = a_cache()
    assert not ModelRunner(model, kv).forward(batch_of_one()).requires_grad
    assert not kv.k[0].requires_grad
