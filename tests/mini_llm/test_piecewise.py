"""The step in pieces: the split on small graphs, then the runner against the plain ModelRunner."""

import logging
import operator
import random
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from torch.fx import symbolic_trace

from mini_llm import Config, ModelRunner, PagedKVCache, Transformer, build_batch
from mini_llm import step as one_step
from mini_llm.attention import PerTokenSDPABackend, ReferenceBackend, SDPABackend, forward_context
from mini_llm.batch import StepBuffers
from mini_llm.bucket_runner import BucketRunner
from mini_llm.piecewise import ATTENTION, PiecewiseRunner, SplitStep, address_of, split_at, split_step, trace_step

DEVICES = ["cpu", *([pytest.param("cuda", marks=pytest.mark.gpu)] if torch.cuda.is_available() else [])]
BLOCK, WIDTH = 4, 8
SIZES = [1, 2, 4, 8, 16, 21]  # an odd top
CFG = Config(101, 64, 80, 2, 4, 2, qk_norm=True)


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def sharp_model(cfg=CFG, device="cpu", **options):
    model = Transformer.random(cfg, device=device, **options)
    for weight in model.parameters():
        if weight.ndim == 2:
            weight.data.mul_(12)  # sharp enough that a wrong key shows
    return model


# --- the split ------------------------------------------------------------------------------------


def run_in_order(graph_module, op, *arguments):
    """What the pieces make of the arguments, with nothing kept longer than `last_uses` allows."""
    nodes = list(graph_module.graph.nodes)
    values = {n.name: getattr(graph_module, n.target) for n in nodes if n.op == "get_attr"}
    values |= zip([n.name for n in nodes if n.op == "placeholder"], arguments, strict=True)
    kept = set(values)
    pieces = split_at(graph_module, op)
    for piece in pieces:
        values |= zip(piece.outputs, piece.run(*(values[name] for name in piece.inputs)), strict=True)
        for name in piece.last_uses:
            del values[name]
    (result,) = nodes[-1].all_input_nodes
    assert set(values) - kept == {result.name}
    return values[result.name], pieces


STEPS = {
    "none": (lambda x, y: x * 2 + y, [False]),
    "one": (lambda x, y: (x * 2) @ y + x, [False, True, False]),
    "first and last": (lambda x, y: (x @ y + 1) @ y, [True, False, True]),
    "side by side": (lambda x, y: (x @ y) @ y * 3, [True, True, False]),
    "a value for much later": (lambda x, y: ((x + 1) @ y * 2) @ y * 3 + (x - y), [False, True] * 2 + [False]),
    "a value of two pieces": (lambda x, y: (lambda a: (a @ y + a) @ y + a)(x * y), [False, True] * 2 + [False]),
    "in place": (lambda x, y: (x.clone().add_(1) @ y).mul_(2) @ y, [False, True] * 2),
}


@pytest.mark.parametrize("name", STEPS)
def test_pieces_in_order_do_what_the_whole_does(name):
    step, kinds = STEPS[name]
    graph_module = symbolic_trace(step)
    x, y = torch.randn(2, 3, 3)
    result, pieces = run_in_order(graph_module, operator.matmul, x, y)
    assert torch.equal(result, step(x, y))
    assert [piece.splits for piece in pieces] == kinds
    for piece in pieces:
        calls = [node.target for node in piece.module.graph.nodes if node.op == "call_function"]
        assert (calls == [operator.matmul]) if piece.splits else (operator.matmul not in calls)


def test_a_piece_takes_in_and_hands_on_only_what_is_used():
    pieces = split_at(symbolic_trace(STEPS["a value for much later"][0]), operator.matmul)
    assert [(piece.inputs, piece.outputs) for piece in pieces] == [
        (("x",), ("add",)), (("add", "y"), ("matmul",)), (("matmul",), ("mul",)), (("mul", "y"), ("matmul_1",)),
        (("matmul_1", "x", "y"), ("add_1",)),
    ]  # fmt: skip
    assert [piece.last_uses for piece in pieces] == [(), ("add",), ("matmul",), ("mul",), ("matmul_1",)]


@pytest.fixture(scope="module")
def traced():
    return trace_step(sharp_model(replace(CFG, num_hidden_layers=4)))


def test_the_step_in_pieces(traced):
    pieces = split_at(traced, ATTENTION)
    assert [piece.splits for piece in pieces] == [False, True] * 4 + [False]
    first, *middle, last = (piece.module.code for piece in pieces if not piece.splits)
    assert len(set(middle)) == 1 and len({first, middle[0], last}) == 3
    q, k, v = pieces[1].inputs
    for piece in pieces[2:-1:2]:  # what goes from layer to layer is the residual stream, and cos and sin
        names = [name for name in piece.inputs if "weight" not in name]
        assert len(names) == 4 and len(piece.outputs) == 4
        assert all(isinstance(n.meta["val"], torch.Tensor) for n in piece.module.graph.find_nodes(op="placeholder"))
    assert {"layers_3_mlp_down_proj_weight", "norm_weight"} <= set(pieces[-1].inputs)


def test_a_step_that_counts_its_tokens_is_not_traced_for_one_number(monkeypatch):
    attend = one_step._attention
    monkeypatch.setattr(one_step, "_attention", lambda attn, x, *rest: attend(attn, x, *rest).reshape(len(x), -1))
    with pytest.raises(RuntimeError, match="how many tokens"):
        trace_step(sharp_model(replace(CFG, num_hidden_layers=1)))


def test_inputs_are_known_by_name(traced):
    assert SplitStep(traced, None).placeholders == ["input_ids", "positions"]
    names = {node.name for node in traced.graph.nodes if node.op == "get_attr"}
    assert {"embed_tokens_weight", "layers_2_self_attn_q_proj_weight", "norm_weight"} <= names


# --- the runner -----------------------------------------------------------------------------------

_steps = {}  # by device: tracing takes a second


def paged(device="cpu", backend=None, sizes=SIZES, cfg=CFG, captured=True, step=None):
    """A runner of pieces and the plain runner, each over a cache of its own; `.runs`: pieces run by Python."""
    p = SimpleNamespace(runs=0, device=device)
    if (device, str(cfg)) not in _steps:
        model = sharp_model(cfg, device, seed=2)
        _steps[device, str(cfg)] = model, split_step(model)
    p.model, p.step = _steps[device, str(cfg)]
    p.step = step or p.step
    p.kv, p.plain_kv = (
        PagedKVCache(cfg.num_hidden_layers, 80, BLOCK, cfg.num_key_value_heads, cfg.hd, device=device) for _ in range(2)
    )
    p.plain = ModelRunner(p.model, p.plain_kv)
    counted = SplitStep.__new__(SplitStep)
    counted.__dict__.update(p.step.__dict__)

    def counting(run):
        def count(*args):
            p.runs += 1
            return run(*args)

        return count

    counted.pieces = [piece if piece.splits else replace(piece, run=counting(piece.run)) for piece in p.step.pieces]
    p.buffers = StepBuffers(48, 8, WIDTH, device)
    p.runner = PiecewiseRunner(counted, p.kv, backend or SDPABackend(), p.buffers, sizes)
    if captured:
        p.runner.capture()
    p.runs = 0
    p.tables = [[79 - WIDTH * r - i for i in range(WIDTH)] for r in range(8)]  # the cache's last block is in use
    return p


def agree(ours, theirs):
    assert ours.shape == theirs.shape
    if len(theirs):
        assert (ours - theirs).abs().max() <= 1e-4 * theirs.abs().max()  # nan never agrees


def random_batches(p, count, seed):
    """Requests that come, are prefilled in chunks, decode, and go: lists of items for build_batch."""
    draw, computed = random.Random(seed), [0] * 8
    for _ in range(count):
        items, room = [], draw.choice([1, 4, 5, 21, 48])
        for r in draw.sample(range(8), draw.randint(1, 8)):
            n = min(room, draw.choice([1, 1, 1, 2, 7, 13]))
            if computed[r] + n > WIDTH * BLOCK:
                computed[r] = 0  # it has gone, and another takes its blocks
            if n:
                items.append(([draw.randint(1, 100) for _ in range(n)], computed[r], p.tables[r], draw.random() < 0.7))
                computed[r] += n
                room -= n
        yield items


BACKENDS = {"reference": ReferenceBackend, "sdpa": SDPABackend, "any batch": PerTokenSDPABackend}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_random_batches_agree_with_the_plain_step(backend, device):
    """Also under the reference attention, which no graph can hold. What is not written in this step is poison."""
    p = paged(device, BACKENDS[backend]())
    in_graphs = 0
    for items in random_batches(p, 25, seed=3):
        batch = build_batch(items, BLOCK)
        for buffer in p.runner.attended.values():
            buffer.fill_(float("nan"))
        p.buffers._fixed[0].fill_(91)  # left behind in every row, as ids, positions, slots and lengths
        p.buffers._fixed[1].fill_(79)
        for host in p.buffers._host:
            host.fill_(91 if host.ndim == 1 else 79)
        if device == "cpu":
            p.runner.pool.spoil_free_blocks()
        p.runs = 0
        agree(p.runner.run(batch), p.plain.forward(batch))
        in_graphs += p.runner.can_run(batch)
        assert (p.runs == 0) == p.runner.can_run(batch)
        assert p.runner.can_run(batch) == (len(batch.input_ids) <= SIZES[-1])
    assert 5 < in_graphs < 25


@pytest.mark.parametrize("device", DEVICES)
def test_padding_writes_to_no_slot_and_its_values_reach_no_row(device):
    p = paged(device)
    for part in (*p.kv.k, *p.kv.v):
        part.fill_(7)
    batch = build_batch([([5, 6, 7], 0, p.tables[1], True), ([3, 4], 1, p.tables[2], True)], BLOCK)  # 5 rows of 8
    first = p.runner.run(batch)
    for part in (*p.kv.k, *p.kv.v):
        written = part.ne(7).any(-1).any(-1).nonzero().tolist()
        assert sorted(written) == sorted([p.tables[r][0], i] for r, i in [(1, 0), (1, 1), (1, 2), (2, 1), (2, 2)])

    honest = p.buffers.set

    def poisoned(*args):
        inputs = honest(*args)
        p.buffers.view(8).input_ids[5:] = 100
        p.buffers.view(8).positions[5:] = 31
        return inputs

    p.buffers.set = poisoned
    assert torch.equal(p.runner.run(batch), first)


@pytest.mark.parametrize("device", DEVICES)
def test_results_are_the_callers_own(device):
    p = paged(device)
    one, two = (build_batch([([t], 0, p.tables[0], True)], BLOCK) for t in (5, 6))
    first = p.runner.run(one)
    kept = first.clone()
    second = p.runner.run(two)
    assert torch.equal(first, kept) and not torch.equal(first, second)


@pytest.mark.parametrize("device", DEVICES)
def test_a_batch_that_wants_no_logits(device):
    p = paged(device)
    batch = build_batch([([1, 2, 3], 0, p.tables[0], False)], BLOCK)
    assert p.runner.run(batch).shape == (0, CFG.vocab_size)
    following = build_batch([([4], 3, p.tables[0], True)], BLOCK)
    p.plain.forward(batch)
    agree(p.runner.run(following), p.plain.forward(following))


def test_nothing_captured_yet_and_no_sizes():
    for p in (paged(captured=False), paged(sizes=[])):
        batch = build_batch([([1, 2, 3], 0, p.tables[0], True)], BLOCK)
        assert not p.runner.can_run(batch)
        agree(p.runner.run(batch), p.plain.forward(batch))
        assert p.runs == 3


@pytest.mark.parametrize("device", DEVICES)
def test_memory_grows_neither_with_sizes_nor_with_layers(device):
    top = [48]
    one = paged(device, sizes=top).runner.pool.nbytes
    assert paged(device, sizes=range(1, 49)).runner.pool.nbytes <= 1.3 * one
    deep = replace(CFG, num_hidden_layers=6)
    assert paged(device, sizes=top, cfg=deep).runner.pool.nbytes <= 1.3 * one


@pytest.mark.parametrize("device", DEVICES)
def test_pieces_hand_on_their_outputs_without_copies(device):
    """One copy for each attention call, whose result is not a graph's. Whatever else a piece reads lies in the pool."""
    p = paged(device, sizes=[16])
    calls = [call for call in p.runner.captured[16].calls if hasattr(call, "arguments")]
    assert len(calls) == CFG.num_hidden_layers == len(p.runner.captured[16].calls) - 3
    if device == "cpu":
        in_pool = [p.runner.pool.block_at(a.untyped_storage().data_ptr()) for a in calls[0].arguments[:3]]
        assert all(block is not None for block in in_pool)
        tapes = [call.__self__._replay.__self__ for call in p.runner.captured[16].calls if call not in calls]
        assert len(tapes) == 3
        assert not any("copy_" in call.func.name() for tape in tapes for call in tape.calls)


def test_capture_goes_from_large_to_small_and_is_logged(caplog, capsys):
    p = paged(captured=False)
    seen = []
    honest = p.buffers.view
    p.buffers.view = lambda size: (seen.append(size), honest(size))[1]
    with caplog.at_level(logging.INFO):
        p.runner.capture(progress=True)
    assert seen == SIZES[::-1]
    assert "captured 3 pieces of 6 sizes, 1 to 21, in " in caplog.text and "GiB" in caplog.text
    assert "size 1, " in capsys.readouterr().err


def test_moved_buffers_and_sizes_above_them_are_refused():
    p = paged()
    batch = build_batch([([1, 2, 3], 0, p.tables[0], True)], BLOCK)
    p.runner.run(batch)
    p.runner.buffers = StepBuffers(48, 8, WIDTH)
    with pytest.raises(RuntimeError, match="moved"):
        p.runner.run(batch)
    with pytest.raises(ValueError, match="more than the buffers hold"):
        paged(sizes=[8, 49])


@pytest.mark.parametrize("device", DEVICES)
def test_the_whole_step_can_be_captured_too_in_the_same_pool(device):
    """FULL for decode batches beside PIECEWISE for the others, over one cache and one set of buffers."""
    p = paged(device)

    def full(inputs):
        with forward_context(p.kv, p.runner.backend, inputs):
            return p.step(inputs)

    decode = BucketRunner(full, p.buffers, [1, 2, 4, 8], pool=p.runner.pool)
    decode.capture()
    for items in [
        [([1, 2, 3], 0, p.tables[0], True), ([4, 5], 0, p.tables[1], True), ([6], 0, p.tables[2], True)],
        [([7], 3, p.tables[0], True), ([8], 2, p.tables[1], True), ([9], 1, p.tables[2], True)],
        [([7, 7], 4, p.tables[0], True), ([8], 3, p.tables[1], True)],
        [([1], 6, p.tables[0], True), ([1], 4, p.tables[1], True), ([9], 2, p.tables[2], True)],
    ]:
        batch = build_batch(items, BLOCK)
        runner = decode if decode.can_run(batch) else p.runner
        agree(runner.run(batch), p.plain.forward(batch))


@pytest.mark.parametrize("device", DEVICES)
def test_an_address_keeps_no_memory(device):
    tensor = torch.arange(12.0, device=device).view(3, 4)[:, 1:]
    there = address_of(tensor)
    assert there.data_ptr() == tensor.data_ptr() and torch.equal(there, tensor)
    tensor.fill_(3)
    assert there.eq(3).all()
    assert there.untyped_storage().data_ptr() == tensor.untyped_storage().data_ptr()
    assert there.untyped_storage()._cdata != tensor.untyped_storage()._cdata
    assert address_of(7) == 7
