"""What a runner over buckets has to do, as functions that raise when it does not.

`test_bucket_runner.py` runs them on every device; `test_planted_faults.py` runs them with a known fault put in,
and then they have to raise. Each starts from nothing: buffers, cache, runner, capture.
"""

from types import SimpleNamespace

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from mini_llm import Config, ModelRunner, PagedKVCache, Transformer, build_batch
from mini_llm.attention import PerTokenSDPABackend, SDPABackend, forward_context
from mini_llm.batch import StepBuffers
from mini_llm.bucket_runner import BucketRunner
from mini_llm.step import hidden_states, logits

BLOCK = 4
WIDTH = 5  # blocks per request
TOP = 42  # no multiple of 8: an odd top has been cut, and left out, before
SIZES = [1, 2, 4, 8, 16, TOP]


# --- a step that is nothing but its metadata ------------------------------------------------------


def read_everything(inputs):
    """[R, 6] numbers in which every tensor of the inputs counts, every column of the block table too."""
    rows = inputs.logits_indices
    columns = torch.arange(1, WIDTH + 1, device=rows.device)
    parts = [
        inputs.input_ids[rows], inputs.positions[rows], inputs.slot_mapping[rows], inputs.seq_lens,
        inputs.query_start_loc[1:], (inputs.block_table * columns).sum(1),
    ]  # fmt: skip
    return torch.stack(parts, dim=1)


def everything(batch):
    """The same numbers from the batch's lists."""
    last = [end - 1 for end in batch.query_start_loc[1:]]
    return [
        [
            batch.input_ids[row].item(), batch.positions[row].item(), batch.slot_mapping[row].item(), seq_len, row + 1,
            sum(block * column for column, block in enumerate(table, 1)),
        ]
        for row, seq_len, table in zip(last, batch.seq_lens, batch.block_tables, strict=True)
    ]  # fmt: skip


def decode_batch(n, seq_len=7, seed=0, query_len=1):
    """`n` requests of `query_len` tokens each, whose lengths and blocks differ."""
    draw = torch.Generator().manual_seed(1000 * n + seed)
    items = []
    for _ in range(n):
        computed = int(torch.randint(0, seq_len, (), generator=draw))
        blocks = torch.randint(1, 100, (-(-(computed + query_len) // BLOCK),), generator=draw).tolist()
        tokens = torch.randint(1, 100, (query_len,), generator=draw).tolist()
        items.append((tokens, computed, blocks, True))
    return build_batch(items, BLOCK)


def toy(device, step=read_everything, max_tokens=64, max_reqs=64, sizes=SIZES, captured=True, **options):
    """A captured runner of `step`, and `.steps`: how often Python ran the step since."""
    state = SimpleNamespace(steps=0, seen=[])

    def counted(inputs):
        state.steps += 1
        state.seen.append(len(inputs.input_ids))
        return step(inputs)

    state.buffers = StepBuffers(max_tokens, max_reqs, WIDTH, device)
    state.runner = BucketRunner(counted, state.buffers, sizes, **options)
    if captured:
        state.runner.capture()
    state.steps = 0
    return state


def check_every_batch_size(device):
    """Right rows for any number of requests, with a graph or without, whatever the batch before left behind."""
    t = toy(device)
    for n in [3, 50, 1, 41, 42, 43, 5, 2, 16, 17, 64, 1]:
        for seq_len in (WIDTH * BLOCK - 1, 2):  # long tables first, then short ones in their place
            batch = decode_batch(n, seq_len)
            assert t.runner.run(batch).tolist() == everything(batch), f"batch of {n}"


def check_graphs_are_used(device):
    """Up to the top, the top included, Python does not run the step; above it does."""
    t = toy(device)
    for n in range(1, TOP + 1):
        batch = decode_batch(n)
        assert t.runner.can_run(batch) and t.runner.run(batch).tolist() == everything(batch)
    assert t.steps == 0
    for n in (TOP + 1, 64):
        assert not t.runner.can_run(decode_batch(n))
        t.runner.run(decode_batch(n))
    assert t.steps == 2


def check_nothing_captured_yet(device):
    t = toy(device, captured=False)
    batch = decode_batch(3)
    assert t.runner.run(batch).tolist() == everything(batch)
    assert not t.runner.can_run(batch)
    weight = torch.ones(1, requires_grad=True, device=device)
    t = toy(device, lambda inputs: inputs.input_ids[inputs.logits_indices] * weight, captured=False)
    assert not t.runner.run(batch).requires_grad


def check_mixed_batches_stay_off_uniform_graphs(device):
    t = toy(device)
    mixed = build_batch([([5], 3, [1], True), ([6, 7], 1, [2], True), ([8], 0, [3], True)], BLOCK)
    prefill = build_batch([([5, 6, 7], 0, [1], True)], BLOCK)
    for batch in (mixed, prefill):
        assert not t.runner.can_run(batch)
        assert t.runner.run(batch).tolist() == everything(batch)


def check_several_tokens_per_request(device):
    """Speculative decoding's batches: uniform, query_len tokens each."""
    t = toy(device, query_len=3, sizes=[3, 6, 24])
    for n in (1, 2, 3, 8):
        batch = decode_batch(n, 9, query_len=3)
        assert t.runner.size_for(batch) == {1: 3, 2: 6, 3: 24, 8: 24}[n]
        assert t.runner.run(batch).tolist() == everything(batch)
    assert not t.runner.can_run(decode_batch(3))
    # logits of every token are more rows than the graph writes: eager, and not a row too few
    every = decode_batch(2, 9, query_len=3)
    every.logits_indices = torch.arange(6)
    tokens = toy(device, lambda inputs: inputs.input_ids * 2, query_len=3, sizes=[3, 6, 24], per_token=True)
    assert not t.runner.can_run(every) and tokens.runner.can_run(every)
    assert tokens.runner.run(every).tolist() == (every.input_ids * 2).tolist() and tokens.steps == 0


def check_results_can_be_kept(device):
    """Unless the caller says that it does not keep them."""
    t = toy(device)
    first, second = decode_batch(4, seed=1), decode_batch(4, seed=2)
    kept = t.runner.run(first)
    lent = t.runner.run(first, clone=False)
    t.runner.run(second)
    assert kept.tolist() == everything(first)
    assert lent.tolist() == everything(second)


def check_sizes_above_the_buffers(device):
    for sizes in ([1, 65], [1, 33]):
        with pytest.raises(ValueError, match="more than the buffers hold"):
            toy(device, max_reqs=32, sizes=sizes, captured=False)
    with pytest.raises(ValueError, match="not whole requests of 3 tokens"):
        toy(device, query_len=3, sizes=[3, 8], captured=False)


def check_tables_wider_than_the_buffers(device):
    t = toy(device)
    too_long = build_batch([([5], WIDTH * BLOCK, list(range(1, WIDTH + 2)), True)], BLOCK)
    with pytest.raises(ValueError, match=f"{WIDTH + 1} blocks"):
        t.runner.run(too_long)
    assert t.runner.run(decode_batch(2)).tolist() == everything(decode_batch(2))


def check_addresses_never_change(device):
    """And a runner whose buffers were moved says so, since its graphs could not."""
    t = toy(device)
    before = [tensor.data_ptr() for tensor in vars(t.buffers.view(8, 8, True)).values() if hasattr(tensor, "data_ptr")]
    for n in (1, 8, 50, 3):
        t.runner.run(decode_batch(n))
    after = [tensor.data_ptr() for tensor in vars(t.buffers.view(8, 8, True)).values() if hasattr(tensor, "data_ptr")]
    assert before == after and len(before) == 7
    t.runner.buffers = StepBuffers(64, 64, WIDTH, device)
    with pytest.raises(RuntimeError, match="moved"):
        t.runner.run(decode_batch(3))


class Allocations(TorchDispatchMode):
    """Every operator that makes a tensor with memory of its own."""

    @classmethod
    def _should_skip_dynamo(cls):
        return False  # see OperatorRules

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if not any(argument.alias_info for argument in func._schema.arguments):
            self.names.append(func.name())
        return result


def check_a_step_allocates_nothing(device):
    """On the host: no operator that makes a tensor. On a GPU: not one allocation. The tape's replay is no step."""
    t = toy(device)
    batches = [decode_batch(n) for n in (1, 3, 8, 42)]
    if torch.device(device).type == "cuda":
        t.runner.run(batches[0], clone=False)
        before = torch.cuda.memory_stats()["allocation.all.allocated"]
        for batch in batches:
            t.runner.run(batch, clone=False)
        assert torch.cuda.memory_stats()["allocation.all.allocated"] == before
        return
    for bucket in t.runner.buckets.values():
        bucket.graph._replay = lambda: None
    with Allocations() as made:
        for batch in batches:
            t.runner.run(batch, clone=False)
    assert made.names == []


def check_one_result_buffer_for_all_sizes(device):
    def wide(inputs):
        return inputs.input_ids[inputs.logits_indices, None].float().expand(-1, 50_000) * 2

    many = toy(device, wide, sizes=range(1, 17), max_reqs=16)
    one = toy(device, wide, sizes=[16], max_reqs=16)
    assert many.runner.pool.nbytes <= 1.5 * one.runner.pool.nbytes
    small, large = (many.runner.run(decode_batch(n), clone=False) for n in (1, 16))
    assert small.data_ptr() == large.data_ptr() and large.shape == (16, 50_000)


def check_capture_goes_from_large_to_small(device):
    t = toy(device)
    order = list(dict.fromkeys(t.seen))
    assert order == sorted(SIZES, reverse=True)


# --- the model over a paged cache -----------------------------------------------------------------

CFG = Config(101, 48, 80, 3, 6, 2, qk_norm=True)


def paged(device, backend=None, sizes=(1, 2, 4, 8), **options):
    """A tiny model behind a captured runner, and the plain ModelRunner over a cache of its own beside it."""
    model = Transformer.random(CFG, device=device, seed=2)
    for weight in model.parameters():
        if weight.ndim == 2:
            weight.data.mul_(12)  # sharp enough that a wrong key shows
    p = SimpleNamespace(model=model, backend=backend or SDPABackend())
    p.kv, p.plain_kv = (PagedKVCache(3, 60, BLOCK, 2, CFG.hd, device=device) for _ in range(2))
    p.plain = ModelRunner(model, p.plain_kv)

    def step(inputs):
        with forward_context(p.kv, p.backend, inputs):
            hidden = hidden_states(model, inputs.input_ids, inputs.positions)
        return logits(model, hidden[inputs.logits_indices])

    p.runner = BucketRunner(step, StepBuffers(32, 8, WIDTH, device), sizes, **options)
    p.runner.capture()
    # block 0 is the null block; the last one of the cache is in use
    p.tables = [[59 - WIDTH * r - i for i in range(WIDTH)] for r in range(8)]
    return p


def agree(ours, theirs):
    assert ours.shape == theirs.shape
    assert (ours - theirs).abs().max() <= 1e-4 * theirs.abs().max()  # nan never agrees


def run_both(p, items):
    batch = build_batch(items, BLOCK)
    agree(p.runner.run(batch), p.plain.forward(batch))


def check_decoding_agrees_as_requests_grow_and_leave(device):
    p = paged(device)
    lengths = [3, 1, 5, 2, 4]
    run_both(p, [(list(range(1, n + 1)), 0, p.tables[r], True) for r, n in enumerate(lengths)])
    for step in range(12):
        running = [r for r in range(5) if step < 12 - 2 * r]  # one leaves every two steps
        run_both(p, [([step + r + 1], lengths[r] + step, p.tables[r], True) for r in running])


def check_mixed_batches_in_graphs_that_take_any(device):
    p = paged(device, PerTokenSDPABackend(), sizes=(2, 4, 8, 16), query_len=None)
    run_both(p, [([1, 2, 3], 0, p.tables[0], True), ([4, 5], 0, p.tables[1], True)])
    mixed = [([6], 3, p.tables[0], True), ([7, 8, 9], 2, p.tables[1], True), ([1] * 9, 0, p.tables[2], False)]
    assert p.runner.can_run(build_batch(mixed, BLOCK))
    run_both(p, mixed)


def check_a_batch_that_wants_no_logits(device):
    """The middle of a prompt; an empty list of rows has no address, and has not moved."""
    p = paged(device, PerTokenSDPABackend(), sizes=(2, 4, 8, 16), query_len=None)
    batch = build_batch([([1, 2, 3], 0, p.tables[0], False)], BLOCK)
    assert p.runner.run(batch).shape == p.plain.forward(batch).shape == (0, p.plain.model.cfg.vocab_size)
    run_both(p, [([4, 5], 3, p.tables[0], True)])


def check_a_step_with_an_output_of_its_own_is_not_copied(device):
    rows = torch.zeros(TOP, 6, device=device)

    def step(inputs):
        here = rows[: len(inputs.input_ids)]
        return here.copy_(read_everything(inputs))

    t = toy(device, step, output=rows)
    for n in (3, TOP, 1):
        assert t.runner.run(decode_batch(n), clone=False).data_ptr() == rows.data_ptr()
        assert t.runner.run(decode_batch(n)).tolist() == everything(decode_batch(n))


def check_padding_writes_to_no_slot(device):
    """Not to the last slot of the cache, which -1 would be, nor to a block that is in use."""
    p = paged(device)
    for part in (*p.kv.k, *p.kv.v):
        part.fill_(7)
    p.runner.run(build_batch([([r + 1], 2, p.tables[r], True) for r in (1, 2, 3)], BLOCK))  # 3 rows in a graph of 4
    for part in (*p.kv.k, *p.kv.v):
        written = part.ne(7).any(-1).any(-1).nonzero().tolist()
        assert sorted(written) == sorted([p.tables[r][0], 2] for r in (1, 2, 3))


def check_capturing_again_leaves_the_cache_alone(device):
    """The buffers still name the slots of the last batch when a second capture warms up."""
    p = paged(device)
    run_both(p, [([1, 2, 3], 0, p.tables[r], True) for r in range(5)])
    run_both(p, [([4], 3, p.tables[r], True) for r in range(5)])
    before = [part.clone() for part in (*p.kv.k, *p.kv.v)]
    p.runner.capture(warmup=1)
    assert p.runner.buffers.view(8, 8, True).slot_mapping.eq(-1).all()
    assert all(torch.equal(a, b) for a, b in zip(before, (*p.kv.k, *p.kv.v), strict=True))
    run_both(p, [([5], 4, p.tables[r], True) for r in range(5)])


CHECKS = {name.removeprefix("check_"): check for name, check in list(globals().items()) if name.startswith("check_")}
