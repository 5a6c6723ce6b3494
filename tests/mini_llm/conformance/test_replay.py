"""What a replay reads, runs and writes: addresses, numbers and shapes of the recording, in every kind of operator."""

import pytest
import torch

from mini_llm.graphs import CapturedStep, capture


def numbers(device, *values):
    return torch.tensor(values, dtype=torch.float32, device=device)


def test_an_input_is_an_address_not_a_name(device):
    x = numbers(device, 1, 2)
    graph = capture(lambda x: x * 10, x)
    assert graph.replay().tolist() == [10, 20]
    x.copy_(numbers(device, 3, 4))
    assert graph.replay().tolist() == [30, 40]
    x = numbers(device, 5, 6)  # another tensor: the graph knows nothing of it
    assert graph.replay().tolist() == [30, 40]


def test_a_tensor_reached_through_a_closure_is_an_address_too(device):
    class Layer:
        weight = numbers(device, 1, 2)

    layer, x = Layer(), numbers(device, 1, 1)
    old = layer.weight
    graph = capture(lambda x: x * layer.weight, x)
    layer.weight = numbers(device, 7, 7)
    assert graph.replay().tolist() == [1, 2]
    old.add_(1)
    assert graph.replay().tolist() == [2, 3]


def test_memory_put_under_a_tensor_is_not_seen(device):
    """vllm 33638: a buffer that is reallocated keeps its name, and the graph keeps the old memory."""
    x = numbers(device, 1, 2)
    old = x.detach()
    graph = capture(lambda x: x * 10, x)
    x.data = numbers(device, 7, 7)
    assert graph.replay().tolist() == [10, 20]
    old.fill_(3)
    assert graph.replay().tolist() == [30, 30]


def test_python_numbers_are_those_of_the_recording(device):
    x, state = numbers(device, 1, 2, 3, 4), {"scale": 2, "length": 3, "positive": True}

    def step(x):
        part = x[: state["length"]]  # vllm 19106: captured short, replayed long
        return part.sum() * state["scale"] if state["positive"] else -part.sum()

    graph = capture(step, x)
    assert graph.replay().item() == 12
    state.update(scale=100, length=4, positive=False)
    assert graph.replay().item() == 12
    x.fill_(5)
    assert graph.replay().item() == 30


def test_a_length_in_a_tensor_may_change(device):
    x, length = numbers(device, 1, 2, 3, 4), torch.tensor(2, device=device)
    places = torch.arange(4, device=device)
    graph = capture(lambda x, length: torch.where(places < length, x, 0.0).sum(), x, length)
    assert graph.replay().item() == 3
    length.fill_(4)
    assert graph.replay().item() == 10


def test_the_recording_runs_nothing(device):
    """Warm-up runs count, the recorded one does not; the output holds garbage until the first replay."""
    counter, cache, x = numbers(device, 0), torch.zeros(4, device=device), numbers(device, 5)
    place = torch.tensor([2], device=device)

    def step(x):
        counter.add_(1)
        cache.index_copy_(0, place, x)
        return counter + 0

    graph = capture(step, x, warmup=2)
    assert counter.item() == 2
    cache.zero_()
    capture(step, x, warmup=0)
    assert (counter.item(), cache.tolist()) == (2, [0, 0, 0, 0])
    assert graph.replay().item() == 3
    place.fill_(0)
    graph.replay()
    assert (counter.item(), cache.tolist()) == (4, [5, 0, 5, 0])


def test_output_memory_is_the_graphs_own_and_the_next_replay_overwrites_it(device):
    """pytorch 170604."""
    x = numbers(device, 1, 2)
    graph = capture(lambda x: x + 1, x)
    first = graph.replay()
    address = first.data_ptr()
    kept = first.clone()
    x.fill_(9)
    second = graph.replay()
    assert second.data_ptr() == address
    assert first.tolist() == [10, 10]
    assert kept.tolist() == [2, 3]


def test_views_share_memory_and_in_place_operators_write_through_them(device):
    x = torch.arange(6.0, device=device)

    def step(x):
        square = x.view(2, 3).t()  # a view of a view
        square[0].mul_(10)
        return square, x[4:], (square + 0).reshape(-1)[1:]

    graph = capture(step, x, warmup=0)
    for _ in range(2):
        x.copy_(torch.arange(6.0, device=device))
        square, tail, inner = graph.replay()
        assert square.tolist() == [[0, 30], [1, 4], [2, 5]]
        assert inner.tolist() == [30, 1, 4, 2, 5]
        assert tail.data_ptr() == x[4:].data_ptr()


def test_operators_that_change_only_a_tensors_shape(device):
    x = torch.arange(6.0, device=device).view(2, 3)

    def step(x):
        y = x * 2
        y.add_(torch.ones(2, 3, device=device))
        y.t_()
        y.mul_(numbers_in_graph(y))
        y.unsqueeze_(0)
        return y.squeeze_(0)

    def numbers_in_graph(y):
        return torch.arange(y.shape[1], device=device) + 1

    graph = capture(step, x)
    for value in (1.0, 2.0):
        x.fill_(value)
        torch.testing.assert_close(graph.replay(), step(x))


def test_tensors_made_inside_are_made_anew_at_each_replay(device):
    x = numbers(device, 1, 2)

    def step(x):
        total = torch.zeros(2, device=device)
        for _ in range(3):
            total += x
        filled = torch.empty(2, device=device).fill_(5)
        return total, filled.add_(torch.arange(2, device=device)), torch.full_like(x, 7)

    graph = capture(step, x)
    for _ in range(2):
        assert [part.tolist() for part in graph.replay()] == [[3, 6], [5, 6], [7, 7]]
    x.fill_(2)
    graph.output[2].fill_(0)
    assert [part.tolist() for part in graph.replay()] == [[6, 6], [5, 6], [7, 7]]


def test_many_outputs_no_outputs_and_lists_of_tensors(device):
    x, other = numbers(device, 3, 1, 2), numbers(device, 0, 0, 0)
    index = torch.tensor([2, 0], device=device)
    square = torch.arange(9.0, device=device).view(3, 3)

    def step(x):
        torch._foreach_add_([other, square], 1.0)
        values, places = x.topk(2)
        normed = torch.nn.functional.layer_norm(x, (3,))
        return {
            "topk": (values, places),
            "parts": list(torch.stack([x, x * 2]).split(1)),
            "none": None,
            "cat": torch.cat([x, other, values]),
            "picked": square[:, index],  # a list [None, index] of optional tensors
            "normed": normed,
            "number": 3,
        }

    graph = capture(step, x)
    for values in ([3, 1, 2], [4, 9, 5]):
        x.copy_(numbers(device, *values))
        other.zero_()
        square.copy_(torch.arange(9.0, device=device).view(3, 3))
        got = graph.replay()
        kept = {k: v.clone() if isinstance(v, torch.Tensor) else v for k, v in got.items()}
        kept["topk"], kept["parts"] = [t.clone() for t in got["topk"]], [t.clone() for t in got["parts"]]
        other.zero_()
        square.copy_(torch.arange(9.0, device=device).view(3, 3))
        expected = step(x)
        assert set(kept) == set(expected)
        for name in ("cat", "picked", "normed"):
            torch.testing.assert_close(kept[name], expected[name])
        for name in ("topk", "parts"):
            torch.testing.assert_close(kept[name], list(expected[name]))
        assert kept["none"] is None and kept["number"] == 3


def test_a_step_that_only_writes(device):
    x, total = numbers(device, 1, 2), torch.zeros((), device=device)

    def step(x):
        total.add_(x.sum())

    graph = capture(step, x, warmup=0)
    assert graph.replay() is None and graph.replay() is None
    assert total.item() == 6


def test_writing_by_index_and_by_out_argument(device):
    cache, slots = torch.zeros(5, 2, device=device), torch.tensor([3, 1], device=device)
    x, out = torch.ones(2, 2, device=device), torch.zeros(2, 2, device=device)

    def step(x):
        cache[slots] = x
        cache[0] = 7.0
        cache[slots, 1:] = torch.full_like(x[:, 1:], -1.0)
        torch.add(x, 1, out=out)
        return cache.index_select(0, slots).sum(), cache.masked_fill(cache < 0, 0.0).sum()

    graph = capture(step, x, warmup=0)
    assert cache.eq(0).all() and out.eq(0).all()
    x.fill_(4)
    slots.copy_(torch.tensor([2, 4], device=device))
    total, masked = graph.replay()
    assert cache.tolist() == [[7, 7], [0, 0], [4, -1], [0, 0], [4, -1]]
    assert (total.item(), masked.item(), out.eq(5).all().item()) == (6, 22, True)


def test_a_whole_layer_is_captured(device):
    """Norm, linear layers, a product of a view and a cast to half precision, as in the eager step."""
    torch.manual_seed(1)
    layer = torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True, device=device).eval()
    x = torch.randn(2, 5, 16, device=device)

    def step(x):
        return layer.norm1(x + layer._ff_block(x)).to(torch.bfloat16), layer.self_attn.in_proj_weight @ x[0].t()

    graph = capture(step, x)
    for _ in range(2):
        x.copy_(torch.randn(2, 5, 16, device=device))
        with torch.no_grad():
            expected = step(x)
        for got, want in zip(graph.replay(), expected, strict=True):
            torch.testing.assert_close(got, want)
            assert not got.requires_grad


def test_a_captured_step_takes_new_tensors(device):
    """And gives results to keep."""
    step = CapturedStep(lambda x, y: (x + y, x * y), numbers(device, 1, 2), numbers(device, 3, 4))
    example, x = numbers(device, 1, 1), numbers(device, 5, 6)
    CapturedStep(torch.neg, example)(x)
    assert example.tolist() == [1, 1]
    first = step(x, numbers(device, 1, 1))
    second = step(numbers(device, 0, 0), numbers(device, 2, 2))
    assert [part.tolist() for part in first] == [[6, 7], [5, 6]]
    assert [part.tolist() for part in second] == [[2, 2], [0, 0]]
    assert x.tolist() == [5, 6]  # what the caller passed is only read


@pytest.mark.parametrize(
    "wrong", [[1.0, 2.0, 3.0], [1.0], 1.0, [[1.0, 2.0]]], ids=["longer", "broadcasts", "scalar", "nested"]
)
def test_a_captured_step_refuses_another_shape(device, wrong):
    step = CapturedStep(lambda x: x + 1, numbers(device, 1, 2))
    with pytest.raises(ValueError, match=r"captured as torch.float32 \[2\]"):
        step(torch.tensor(wrong, device=device))
    assert step(numbers(device, 5, 6)).tolist() == [6, 7]


def test_a_captured_step_refuses_another_dtype_and_another_number_of_inputs(device):
    step = CapturedStep(lambda x: x + 1, numbers(device, 1, 2))
    with pytest.raises(ValueError, match="torch.int64"):
        step(torch.tensor([1, 2], device=device))
    with pytest.raises(ValueError, match="takes 1 inputs, not 2"):
        step(numbers(device, 1, 2), numbers(device, 1, 2))
