"""The emulator itself: what it records, where it keeps results, and what else it refuses."""

import gc
import subprocess
import sys

import numpy as np
import pytest
import torch

from mini_llm.capture_rules import HOST_VALUE, CaptureError, broken_rule
from mini_llm.graphs import capture
from mini_llm.tape import Tape, TapePool, opaque


def recorded(fn, *inputs):
    """The names of the operators on the tape of `fn`."""
    tape = Tape(TapePool())
    with torch.no_grad():
        tape.record(fn, inputs)
    return [
        call.func.name().removeprefix("aten::") if isinstance(call.func, torch._ops.OpOverload) else call.func
        for call in tape.calls
    ]


# --- what is on the tape --------------------------------------------------------------------------


def test_operators_that_write_memory_are_recorded_and_views_are_not():
    x = torch.ones(2, 3)
    assert recorded(lambda x: x.t().reshape(6)[1:].relu(), x) == ["clone", "relu"]
    assert recorded(lambda x: x.view(6).unsqueeze_(0).squeeze_(0).add_(1), x) == ["add_.Tensor"]
    assert recorded(lambda x: torch.nn.functional.linear(x, torch.ones(4, 3), torch.ones(4)), x) == [
        "ones", "ones", "addmm",
    ]  # fmt: skip
    assert recorded(lambda x: torch.add(x, 1, out=torch.empty(2, 3)), x) == ["empty.memory_format", "add.out"]


def test_inference_mode_puts_the_same_operators_on_the_tape():
    def step(x):
        return torch.nn.functional.linear(x, x).matmul(x).reshape(-1)[:2].softmax(0)

    normal = recorded(step, torch.ones(3, 3))
    with torch.inference_mode():
        assert recorded(step, torch.ones(3, 3)) == normal
    assert normal == ["mm", "mm", "_softmax"]


def test_a_call_draws_on_the_memory_not_on_the_object():
    """Whatever becomes of a tensor's shape later in the step, each call sees it as it was."""
    x = torch.arange(6.0).view(2, 3)

    def step(x):
        y = x + 0
        y += torch.ones(2, 3)
        y.t_()
        y += torch.ones(3, 2)
        return y

    graph = capture(step, x)
    assert graph.replay().tolist() == [[2, 5], [3, 6], [4, 7]]


def test_the_import_of_the_compiler_is_avoided():
    """It takes seconds, and the judge makes a tape in every test."""
    code = (
        "import sys, torch; from mini_llm.graphs import capture; "
        "x = torch.ones(2); assert capture(lambda x: x + 1, x).replay().tolist() == [2, 2]; "
        "assert 'torch._dynamo' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": ":".join(sys.path)})


# --- where results live ---------------------------------------------------------------------------


def test_memory_of_what_the_step_dropped_is_used_again():
    def deep(x):
        for _ in range(50):
            x = x + 1
        return x

    x = torch.zeros(1000)
    graph = capture(deep, x, warmup=0)
    assert graph.pool.nbytes <= 2 * 4096
    assert graph.replay().eq(50).all()

    def hoarding(x):
        kept = [x + i for i in range(50)]
        return torch.stack(kept).sum(0)

    assert capture(hoarding, x, warmup=0).pool.nbytes > 100 * 4000


def test_a_small_tensor_does_not_sit_on_a_huge_block():
    def step(x):
        large = x * 2
        del large
        small = x[:8] + 1
        return small, x * 3

    x = torch.ones(100_000)
    assert capture(step, x, warmup=0).pool.nbytes < 1.5 * 400_000


def test_an_output_is_garbage_until_the_first_replay():
    graph = capture(lambda x: (x + 1, x.long() + 1), torch.ones(3))
    assert graph.output[0].isnan().all() and graph.output[1].eq(-1).all()
    assert [part.tolist() for part in graph.replay()] == [[2, 2, 2], [2, 2, 2]]


def test_a_tensor_that_someone_holds_keeps_its_memory():
    held = []

    def step(x):
        held.append(x * 2)
        return (x + 1) * 3

    x = torch.ones(1000)
    graph = capture(step, x, warmup=0)
    later = capture(lambda x: [x + i for i in range(9)], x, warmup=0, pool=graph.pool)
    graph.replay()
    later.replay()
    assert held[0].eq(2).all()


def random_step(seed):
    """A step of some thirty operators on whatever tensors it has, and how many inputs it takes."""
    choose = np.random.default_rng(seed)
    plan = choose.integers(0, 1 << 30, size=(30, 3)).tolist()

    def step(*inputs):
        live = list(inputs)
        for op, i, j in plan:
            a, b = live[i % len(live)], live[j % len(live)]
            made = [
                lambda a, b: a + b,
                lambda a, b: (a * 0.5).t().contiguous(),
                lambda a, b: torch.cat([a, b])[:4],
                lambda a, b: torch.sort(a, dim=0)[0],
                lambda a, b: a.clone().mul_(0.5).add_(b[0]),
                lambda a, b: torch.where(a > b, a, b),
                lambda a, b: torch.zeros(4, 4).index_add_(0, torch.arange(4).flip(0), a),
                lambda a, b: a[1:, :2].repeat(2, 2)[:4, :4].tanh(),
                lambda a, b: (a @ b).clamp(-3, 3),
                lambda a, b: b.add_(0.125) if b is not inputs[0] else b.t(),
            ][op % 10](a, b)  # fmt: skip
            live.append(made)
            if op % 3 == 0:
                live.pop(i % len(live))
        return live[-3:]

    return step


@pytest.mark.parametrize("seed", range(12))
def test_random_steps_replay_as_they_run(seed):
    """Three of them in one pool, with all free memory spoilt in between: nothing reads what was given back."""
    draw = torch.Generator().manual_seed(seed)
    graphs, pool = [], None
    for i in range(3):
        step = random_step(100 * seed + i)
        buffers = [torch.randn(4, 4, generator=draw) for _ in range(2)]
        graphs.append((step, buffers, capture(step, *buffers, warmup=0, pool=pool)))
        pool = graphs[0][2].pool
    for i in (0, 2, 1, 1, 0, 2):
        step, buffers, graph = graphs[i]
        values = [torch.randn(4, 4, generator=draw) for _ in buffers]
        expected = step(*[v.clone() for v in values])
        for buffer, value in zip(buffers, values, strict=True):
            buffer.copy_(value)
        pool.spoil_free_blocks()
        for got, want in zip(graph.replay(), expected, strict=True):
            assert torch.equal(got, want)


def test_reading_memory_that_was_given_back_shows():
    pool, seen = TapePool(), []

    def step(x):
        inner = x * 2
        seen.append(inner.untyped_storage().data_ptr())
        return inner + 1

    graph = capture(step, torch.ones(1000), warmup=0, pool=pool)
    graph.replay()
    memory = pool.block_at(seen[0]).view(torch.float32)[:1000]
    assert memory.eq(2).all()
    pool.spoil_free_blocks()
    assert memory.isnan().all() and graph.output.eq(3).all()


def test_outputs_of_one_operator_that_share_memory_still_do():
    def into_halves(x):
        whole = x * 2
        return whole[:2], whole[2:], whole.view(2, 2)

    halves = opaque(into_halves)

    def step(x):
        first, second, whole = halves(x)
        second.add_(100)
        return first, whole

    x = torch.arange(4.0)
    graph = capture(step, x, warmup=0)
    for _ in range(2):
        first, whole = graph.replay()
        assert (first.tolist(), whole.tolist()) == ([0, 2], [[0, 2], [104, 106]])


def test_empty_tensors_and_outputs_that_are_inputs():
    x = torch.ones(3)
    graph = capture(lambda x: (x[:0] * 2, torch.cat([x[:0], x]), x), x, warmup=0)
    empty, copied, same = graph.replay()
    assert empty.shape == (0,) and copied.tolist() == [1, 1, 1] and same is x


def test_what_a_recording_writes_into_another_graphs_output_is_undone():
    x = torch.ones(3)
    first = capture(lambda x: x + 1, x)
    first.replay()
    second = capture(lambda y: y.mul_(10), first.output, warmup=0, pool=first.pool)
    assert first.output.tolist() == [2, 2, 2]
    second.replay()
    assert first.output.tolist() == [20, 20, 20]


def test_a_tensor_outlives_the_pool():
    output = capture(lambda x: x + 1, torch.ones(100_000)).replay()
    gc.collect()
    filler = [torch.full((100_000,), 7.0) for _ in range(8)]
    assert output.eq(2).all() and len(filler) == 8


# --- what it refuses where CUDA has no such call, or is less strict -------------------------------

TAPE_ONLY = {
    "Tensor.numpy": lambda x: x.numpy(),
    "Tensor.__array__": lambda x: np.asarray(x),
    "Tensor.__dlpack__": lambda x: np.from_dlpack(x),
    "Tensor.__complex__": lambda x: complex(x[0]),
    "Tensor.__index__": lambda x: range(x.long()[0]),
    "torch.arange": lambda x: torch.arange(x.long()[1]),
    "torch.multinomial": lambda x: torch.multinomial(x, 1),
    "torch.normal": lambda x: torch.normal(x, x),
    "torch.linalg.inv": lambda x: torch.linalg.inv(torch.outer(x, x) + torch.eye(4)),
    "Tensor.new_tensor": lambda x: x.new_tensor([1.0]),
    "torch.as_tensor": lambda x: torch.as_tensor([1.0]),
    "aten::lift_fresh": lambda x: x.abs() + torch.from_numpy(np.ones(4)),
    "Tensor.__getitem__": lambda x: x[[0, 1]],
    "torch.rand": lambda x: torch.rand(2, generator=torch.Generator()),
    "torch.argwhere": lambda x: torch.argwhere(x),
    "Tensor.is_nonzero": lambda x: x if x[1].is_nonzero() else x + 1,
}


@pytest.mark.parametrize("operator", TAPE_ONLY)
def test_more_host_reads_are_refused_by_name(operator):
    with pytest.raises(CaptureError) as refused:
        capture(TAPE_ONLY[operator], torch.arange(4.0) + 1, warmup=0)
    assert refused.value.operator == operator


def test_a_copy_to_or_from_the_host_is_a_host_read():
    """Known by the devices, so only a GPU shows it in earnest; meta stands for one here."""
    there, here = torch.ones(3, device="meta"), torch.ones(3)
    copy, to = torch.ops.aten.copy_.default, torch.ops.aten._to_copy.default
    assert broken_rule(copy, (there, here), {}) == broken_rule(copy, (here, there), {}) == HOST_VALUE
    assert broken_rule(to, (there,), {"device": torch.device("cpu")}) == HOST_VALUE
    assert broken_rule(to, (here,), {"dtype": torch.float64}) is None
    assert broken_rule(copy, (there, torch.tensor(1.0)), {}) is None  # a number, passed with the kernel


@pytest.mark.parametrize("index", [[0, 2], torch.tensor([0, 2]), torch.tensor([True, False, True]), (0, [0])])
def test_a_number_is_written_by_index_only_where_no_tensor_has_to_be_sent(index):
    x = torch.zeros(3, 3)

    def step(x):
        x[index] = 1.0

    with pytest.raises(CaptureError, match="__setitem__"):
        capture(step, x, warmup=0)


def test_a_number_is_written_to_a_place_or_a_slice():
    x = torch.zeros(2, 3, dtype=torch.int64)

    def step(x):
        x[0, 1:] = 2.7  # cast as PyTorch casts it
        x[1] = True

    capture(step, x, warmup=0).replay()
    assert x.tolist() == [[0, 2, 2], [1, 1, 1]]


def test_what_only_looks_like_a_host_read_is_recorded():
    x, repeats = torch.arange(3.0), torch.tensor([2, 0, 1])
    graph = capture(lambda x: x.repeat_interleave(repeats, output_size=3), x)
    assert graph.replay().tolist() == [0, 0, 2]
    repeats.copy_(torch.tensor([0, 3, 0]))
    assert graph.replay().tolist() == [1, 1, 1]

    def step(x):
        sizes = (len(x), x.shape[0], x.numel(), x.dim(), x.dtype, x.is_contiguous(), x.data_ptr(), hash(x))
        return torch.rand(sizes[0], generator=torch.default_generator) * 0 + sum(part for part in x)

    assert capture(step, x).replay().tolist() == [3, 3, 3]


def test_a_seed_for_a_graphs_own_generator_counts_and_recording_does_not_draw():
    generator = torch.Generator().manual_seed(5)
    graph = capture(lambda: torch.rand(4, generator=generator), device="cpu", warmup=0, generators=(generator,))
    assert torch.equal(graph.replay(), torch.rand(4, generator=torch.Generator().manual_seed(5)))
