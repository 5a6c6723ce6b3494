"""Attention backends: eager and captured, all against the plain reference; the context a step runs in.

Every slot that belongs to no position of the batch holds nan, and captured steps are replayed on other
batches than they saw: whatever reads stale or foreign memory shows it.
"""

import random

import pytest
import torch

from mini_llm import (
    AttentionCGSupport,
    BlockPool,
    Config,
    CudagraphDispatcher,
    CUDAGraphMode,
    ModelRunner,
    PagedKVCache,
    Transformer,
    build_batch,
)
from mini_llm.attention import BACKENDS, attend, attention_backend, forward_context
from mini_llm.batch import StepBuffers
from mini_llm.graphs import capture
from mini_llm.paged import slot_mapping_for
from mini_llm.step import hidden_states, logits

GPU = pytest.param(
    "cuda",
    marks=[pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")],
)
each_device = pytest.mark.parametrize("device", ["cpu", GPU])
CFG = Config(101, 48, 80, 3, 6, 2, qk_norm=True)
BLOCKS = 64


@pytest.fixture(autouse=True)
def no_gradients():
    with torch.no_grad():
        yield


def each_backend(at_least=AttentionCGSupport.NEVER):
    """Every backend but the reference, on every device. On a CPU Triton is left to the tests of kernels/."""
    names = [name for name, kind in BACKENDS.items() if kind.support >= at_least and name != "reference"]
    on_cpu = [pytest.param(name, "cpu") for name in names if name != "triton"]
    on_gpu = [pytest.param(name, "cuda", marks=GPU.marks) for name in names]
    return pytest.mark.parametrize("name, device", on_cpu + on_gpu)


def agree(ours, theirs, tolerance=1e-4):
    assert ours.shape == theirs.shape
    return bool((ours - theirs).abs().max() <= tolerance * theirs.abs().max())  # nan never agrees


def scene(requests, device="cpu", heads=(6, 2, 8), dtype=torch.float32, block_size=4, seed=0):
    """A cache and a batch of `requests`, pairs of (positions in all, new ones among them).

    Blocks are scattered, block 0 is the null block, and what belongs to no request is nan.
    """
    nh, nkv, hd = heads
    rng = random.Random(seed)
    kv = PagedKVCache(1, BLOCKS, block_size, nkv, hd, dtype, device)
    kv.k[0].fill_(float("nan")), kv.v[0].fill_(float("nan"))
    free = list(range(1, BLOCKS))
    rng.shuffle(free)
    items = []
    for length, new in requests:
        table = [free.pop() for _ in range(-(-length // block_size))]
        slots = torch.tensor(slot_mapping_for(table, range(length), block_size), device=device)
        kv.write(0, slots, *torch.randn(2, length, nkv, hd, device=device).to(dtype))
        items.append(([1] * new, length - new, table, True))
    batch = build_batch(items, block_size)
    return kv, batch, torch.randn(len(batch.input_ids), nh, hd, device=device).to(dtype)


def padded(q, rows):
    """Rows of padding hold nan: nothing may come of them."""
    return torch.cat([q, q.new_full((rows - len(q), *q.shape[1:]), float("nan"))])


def reference(q, kv, batch):
    inputs = StepBuffers(len(batch.input_ids), len(batch.seq_lens), 16, q.device).set(batch)
    return attention_backend("reference")(q, kv, 0, inputs)


# --- eager ----------------------------------------------------------------------------------------

BATCHES = {
    "decode": [(1, 1), (9, 1), (16, 1), (30, 1)],
    "one-prefill": [(13, 13)],
    "chunk": [(20, 6)],
    "draft-tokens": [(9, 3), (3, 3), (25, 3)],
    "mixed": [(4, 1), (30, 1), (12, 12), (9, 2), (5, 2), (1, 1)],
}


@pytest.mark.parametrize("batch", BATCHES)
@each_backend()
def test_eager_equals_the_reference(name, batch, device):
    backend = attention_backend(name, device)
    for seed, heads in enumerate([(6, 2, 8), (4, 4, 16), (9, 3, 24)]):
        kv, batch_input, q = scene(BATCHES[batch], device, heads, seed=seed)
        n = len(q)
        expected = reference(q, kv, batch_input)
        assert expected.isfinite().all() and expected.abs().max() > 0.1
        buffers = StepBuffers(64, 16, 16, device)
        assert agree(backend(q, kv, 0, buffers.set(batch_input)), expected)
        # padded, as between the pieces of a piecewise graph
        out = backend(padded(q, n + 5), kv, 0, buffers.set(batch_input, n + 5))
        assert agree(out[:n], expected) and not out[n:].any()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@each_backend()
def test_half_precision(name, dtype, device):
    backend = attention_backend(name, device)
    kv, batch, q = scene(BATCHES["mixed"], device, (8, 2, 16), dtype)
    kv32, _, _ = scene(BATCHES["mixed"], device, (8, 2, 16))
    for part, part32 in zip((*kv.k, *kv.v), (*kv32.k, *kv32.v), strict=True):
        part32.copy_(part)
    out = backend(q, kv, 0, StepBuffers(64, 16, 16, device).set(batch))
    assert out.dtype == dtype and agree(out.float(), reference(q.float(), kv32, batch), 0.02)


def test_nan_never_agrees():
    ones = torch.ones(3)
    assert agree(ones, ones) and not agree(ones * float("nan"), ones) and not agree(ones, ones * float("nan"))


# --- captured -------------------------------------------------------------------------------------


def replayed(backend, device, heads, shape, uniform, batches, tables=16):
    """Capture attention alone for `shape` on an empty batch; replay it on each of `batches`."""
    num_tokens, num_reqs = shape
    buffers = StepBuffers(num_tokens, num_reqs, tables, device)
    view = buffers.view(num_tokens, num_reqs, uniform)
    q = torch.zeros(num_tokens, heads[0], heads[2], device=device)
    kv = PagedKVCache(1, BLOCKS, 4, heads[1], heads[2], device=device)
    graph = capture(lambda q: backend(q, kv, 0, view), q)
    for seed, requests in enumerate(batches):
        filled, batch, queries = scene(requests, device, heads, seed=seed)
        for ours, theirs in zip((*kv.k, *kv.v), (*filled.k, *filled.v), strict=True):
            ours.copy_(theirs)
        n, expected = len(queries), reference(queries, filled, batch)
        buffers.set(batch, num_tokens, num_reqs, uniform)
        q.copy_(padded(queries, num_tokens))
        yield graph.replay()[:n], expected
        q[n:] = 1
        out = graph.replay()
        assert not out[n:].any(), "padding sees no key"
        yield out[:n], expected


def random_batches(rng, max_reqs, count, query_len=None, max_tokens=None):
    for _ in range(count):
        requests = []
        for _ in range(rng.randint(1, max_reqs)):
            new = query_len or rng.choice([1, 1, 1, 2, 5])
            if max_tokens is None or new + sum(r[1] for r in requests) <= max_tokens:
                requests.append((rng.randint(new, 36), new))
        yield requests or [(1, 1)]


def test_what_each_backend_supports():
    assert {name: kind.support for name, kind in BACKENDS.items()} == {
        "reference": AttentionCGSupport.NEVER,
        "sdpa": AttentionCGSupport.UNIFORM_BATCH,
        "sdpa_per_token": AttentionCGSupport.ALWAYS,
        "triton": AttentionCGSupport.ALWAYS,
    }


@pytest.mark.parametrize("query_len", [1, 3])
@each_backend(AttentionCGSupport.UNIFORM_BATCH)
def test_vllm_19106_captured_empty_replayed_at_any_length(name, query_len, device):
    """A uniform graph: other lengths, tables and numbers of requests at each replay."""
    backend = attention_backend(name, device)
    batches = [[(query_len, query_len)], [(36, query_len)] * 6, [(query_len, query_len)] * 2]
    batches += random_batches(random.Random(1), 6, 8, query_len)
    shape = 6 * query_len, 6
    for out, expected in replayed(backend, device, (6, 2, 8), shape, True, batches):
        assert agree(out, expected)


@each_backend(AttentionCGSupport.ALWAYS)
def test_a_graph_for_any_batch(name, device):
    backend = attention_backend(name, device)
    batches = [BATCHES["decode"], BATCHES["one-prefill"], BATCHES["mixed"], [(1, 1)], [(36, 19)], [(2, 1)] * 6]
    batches += random_batches(random.Random(2), 6, 8, max_tokens=19)
    for out, expected in replayed(backend, device, (6, 2, 8), (19, 6), False, batches):
        assert agree(out, expected)


def test_a_graph_of_what_a_backend_does_not_support_is_refused():
    kv, _, q = scene([(3, 1)])
    view = StepBuffers(4, 4, 4).view(4)
    with pytest.raises(RuntimeError, match="captured for uniform batches only"):
        attention_backend("sdpa")(q, kv, 0, view)
    for uniform in (False, True):
        with pytest.raises(RuntimeError, match="reads Python lists, which a graph cannot"):
            attention_backend("reference")(q, kv, 0, StepBuffers(4, 4, 4).view(4, 4, uniform))


# --- a whole step ---------------------------------------------------------------------------------


def a_model(device="cpu"):
    model = Transformer.random(CFG, device=device, seed=2)
    for weight in model.parameters():
        if weight.ndim == 2:
            weight.data.mul_(12)
    return model


def a_cache(device):
    kv = PagedKVCache(3, BLOCKS, 4, 2, CFG.hd, device=device)
    for part in (*kv.k, *kv.v):
        part.fill_(float("nan"))
    return kv


@each_backend(AttentionCGSupport.UNIFORM_BATCH)
def test_a_captured_decode_step_generates_what_the_base_model_does(name, device):
    generates_what_the_base_model_does(name, device, uniform=True)


@each_backend(AttentionCGSupport.ALWAYS)
def test_so_does_one_that_is_captured_for_any_batch(name, device):
    generates_what_the_base_model_does(name, device, uniform=False)


def generates_what_the_base_model_does(name, device, uniform):
    """Three prompts decoded by one graph, joining and leaving: ids, positions and cache change at each replay."""
    torch.manual_seed(1)
    backend, model, kv = attention_backend(name, device), a_model(device), a_cache(device)
    buffers = StepBuffers(4, 4, 8, device)
    view = buffers.view(4, 4, uniform)

    def step(input_ids, positions):
        with forward_context(kv, backend, view):
            return logits(model, hidden_states(model, input_ids, positions))

    graph = capture(step, view.input_ids, view.positions)
    assert not any(part.isfinite().any() for part in (*kv.k, *kv.v)), "capturing wrote to the cache"

    pool, runner = BlockPool(BLOCKS), ModelRunner(model, kv)
    pool.allocate(1)
    prompts = [torch.randint(0, 101, (length,)).tolist() for length in (5, 11, 2)]
    tables = [pool.allocate(6) for _ in prompts]
    for ids, table in zip(prompts, tables, strict=True):
        last = runner.forward(build_batch([(ids, 0, table, True)], 4))
        ids.append(last.argmax().item())
    # which prompts take part in each step
    for active in ([0], [0, 1], [0, 1, 2], [2, 1], [1], [1, 0, 2], [2]):
        batch = build_batch([(prompts[i][-1:], len(prompts[i]) - 1, tables[i], True) for i in active], 4)
        buffers.set(batch, 4, 4, uniform)
        rows = graph.replay()[: len(active)].clone()
        for row, i in zip(rows, active, strict=True):
            expected = model(torch.tensor([prompts[i]], device=device))[0, -1]
            assert agree(row, expected), (active, i)
            prompts[i].append(row.argmax().item())


@each_backend(AttentionCGSupport.UNIFORM_BATCH)
def test_draft_tokens_are_verified_by_one_graph(name, device):
    """Speculative decoding: the last token of each request and two guesses, the logits of all three wanted."""
    torch.manual_seed(1)
    backend, model, kv = attention_backend(name, device), a_model(device), a_cache(device)
    dispatcher = CudagraphDispatcher(CUDAGraphMode.FULL_DECODE_ONLY, [3, 6, 12], max_num_seqs=4, query_len=3)
    buffers, graphs = StepBuffers(12, 4, 8, device), {}
    for mode, key in dispatcher.capture_order():
        view = buffers.view(key.num_tokens, key.num_reqs, key.uniform)

        def step(input_ids, positions, view=view):
            with forward_context(kv, backend, view):
                return logits(model, hidden_states(model, input_ids, positions))

        pool = next((graph.pool for graph in graphs.values()), None)
        graphs[mode, key] = capture(step, view.input_ids, view.positions, pool=pool)
    assert [key.num_tokens for _, key in graphs] == [12, 6, 3]

    pages, runner = BlockPool(BLOCKS), ModelRunner(model, kv)
    pages.allocate(1)
    for requests in (1, 3, 2, 4):
        sequences = [torch.randint(0, 101, (length,)).tolist() for length in (14, 5, 9, 4)[:requests]]
        tables = [pages.allocate(4) for _ in sequences]
        prompts = [(ids[:-3], 0, table, False) for ids, table in zip(sequences, tables, strict=True)]
        runner.forward(build_batch(prompts, 4))
        guesses = [(ids[-3:], len(ids) - 3, table, True) for ids, table in zip(sequences, tables, strict=True)]
        mode, key = dispatcher.dispatch(3 * requests, uniform=True)
        buffers.set(build_batch(guesses, 4), key.num_tokens, key.num_reqs, key.uniform)
        rows = graphs[mode, key].replay()[: 3 * requests]
        expected = [model(torch.tensor([ids], device=device))[0, -3:] for ids in sequences]
        assert agree(rows, torch.cat(expected))
        for table in tables:
            pages.free(table)


@each_device
def test_the_traced_step_meets_attention_as_one_operator_per_layer(device):
    model, kv = a_model(device), a_cache(device)
    backend, buffers = attention_backend("sdpa"), StepBuffers(16, 4, 8, device)

    class Step(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, input_ids, positions):
            return hidden_states(self.model, input_ids, positions, torch.ops.mini_llm.attention)

    view = buffers.view(8)
    tokens = {0: torch.export.Dim("tokens", min=2, max=16)}
    traced = torch.export.export(Step(), (view.input_ids, view.positions), dynamic_shapes=(tokens, tokens)).module()
    calls = [node for node in traced.graph.nodes if node.target is torch.ops.mini_llm.attention.default]
    assert [call.args[3] for call in calls] == [0, 1, 2]
    for prompt in ([5, 6, 7], [9] * 11):
        inputs = buffers.set(build_batch([(prompt, 0, [3, 1, 2], True)], 4), 12)
        with forward_context(kv, backend, inputs):
            out = traced(inputs.input_ids, inputs.positions)
        hidden = out[inputs.logits_indices]
        assert agree(logits(model, hidden), model(torch.tensor([prompt], device=device))[:, -1])


def test_keys_that_a_fused_kernel_wrote_are_not_written_again():
    kv, batch, q = scene([(9, 1)])
    inputs = StepBuffers(1, 1, 4).set(batch)
    before = kv.k[0].clone()
    for attention in (attend, torch.ops.mini_llm.attention):
        with forward_context(kv, attention_backend("sdpa"), inputs):
            assert agree(attention(q, None, None, 0), reference(q, kv, batch))
    assert torch.equal(kv.k[0].nan_to_num(7), before.nan_to_num(7))


def test_the_context_ends_with_its_block():
    kv, batch, q = scene([(9, 1)])
    inputs, sdpa = StepBuffers(1, 1, 4).set(batch), attention_backend("sdpa")
    other, _, _ = scene([(9, 1)], seed=5)
    expected = reference(q, kv, batch)
    with forward_context(kv, sdpa, inputs):
        with pytest.raises(ZeroDivisionError), forward_context(other, sdpa, inputs):
            _ = 1 / 0
        assert agree(attend(q, None, None, 0), expected)
    with pytest.raises(RuntimeError, match="open a forward_context around the step"):
        attend(q, None, None, 0)


# --- choosing one ---------------------------------------------------------------------------------


def test_an_unknown_backend_is_named():
    with pytest.raises(ValueError, match="no attention backend 'flash', only reference, sdpa, "):
        attention_backend("flash")


@each_device
def test_the_default_is_the_fastest_that_runs(device):
    assert attention_backend(None, device) is not attention_backend(None, device)
    assert type(attention_backend(None, device)) is BACKENDS["sdpa" if device == "cpu" else "triton"]


def test_a_missing_triton_is_said(monkeypatch):
    monkeypatch.setattr("mini_llm.kernels.find_spec", lambda name: None)
    with pytest.raises(RuntimeError, match="Triton attention cannot run: triton is not installed in "):
        attention_backend("triton")
    assert type(attention_backend(None, "cuda")) is BACKENDS["sdpa"]


def test_triton_on_a_cpu_beside_a_gpu_is_refused(monkeypatch):
    monkeypatch.setattr("mini_llm.kernels.find_spec", lambda name: "somewhere")
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("mini_llm.kernels.INTERPRETED", False)
    with pytest.raises(RuntimeError, match="cannot run: a tensor on the cpu is out of reach for a kernel on the GPU"):
        attention_backend("triton", "cpu")
    assert type(attention_backend(None, "cpu")) is BACKENDS["sdpa"]


def test_triton_without_a_gpu_says_what_would_help(monkeypatch):
    monkeypatch.setattr("mini_llm.kernels.find_spec", lambda name: "somewhere")
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    monkeypatch.setattr("mini_llm.kernels.INTERPRETED", False)
    with pytest.raises(RuntimeError, match="there is no GPU; TRITON_INTERPRET=1, set before Python starts"):
        attention_backend("triton")
