"""Memory, streams and random numbers: what graphs share with one another and with the code around them."""

import gc

import pytest
import torch

from mini_llm.graphs import capture


def junk(device):
    """Fill whatever memory is free, so that a graph that reads freed memory gives a wrong answer."""
    return [torch.full((n,), float("nan"), device=device) for n in (64, 1024, 1 << 14, 1 << 18) for _ in range(8)]


def chain(x):
    """Several tensors that die inside the step, all of the output's size."""
    parts = [x * i for i in range(1, 9)]
    return torch.stack(parts).sum(0)


def test_a_shared_pool_holds_less_than_pools_of_their_own(device):
    """Largest first: the smaller graphs fit into the memory that the largest one left."""
    unit = 1 << (20 if device.type == "cuda" else 14)  # CUDA keeps small and large blocks apart
    inputs = [torch.ones(n * unit, device=device) for n in (4, 2, 1)]
    first = capture(chain, inputs[0])
    alone = first.pool.nbytes
    shared = [first] + [capture(chain, x, pool=first.pool) for x in inputs[1:]]
    separate = [capture(chain, x) for x in inputs]
    assert first.pool.nbytes < 1.5 * alone
    assert first.pool.nbytes < 0.75 * sum(graph.pool.nbytes for graph in separate)
    for graph, x in zip(shared + separate, inputs * 2, strict=True):
        x.fill_(3)
        assert graph.replay().eq(36 * 3).all()


def test_capture_from_large_to_small_replay_in_any_order(device):
    buffer = torch.zeros(64, 8, device=device)
    weight = torch.randn(8, 8, device=device)
    sizes, graphs, pool = [64, 16, 4, 1], {}, None
    for size in sizes:
        graphs[size] = capture(lambda x: (x @ weight).relu() @ weight, buffer[:size], pool=pool)
        pool = graphs[size].pool
    for size in [1, 64, 4, 16, 64, 1]:
        buffer.copy_(torch.randn(64, 8, device=device))
        got = graphs[size].replay()
        assert got.shape == (size, 8)
        torch.testing.assert_close(got, (buffer[:size] @ weight).relu() @ weight)


def test_in_a_shared_pool_another_replay_overwrites_an_output(device):
    """Why an output is used, or cloned, before the next replay of any graph in the pool."""
    x = torch.ones(1024, device=device)
    large = capture(chain, x)
    small = capture(lambda x: x * 5, x, pool=large.pool)
    apart = capture(lambda x: x * 5, x)
    small.replay(), apart.replay()
    assert small.output.eq(5).all() and apart.output.eq(5).all()
    large.replay()
    assert not small.output.eq(5).all()  # it lies where `large` kept something of its own
    assert apart.output.eq(5).all()
    assert small.replay().eq(5).all()


def test_an_output_that_is_kept_is_left_alone_by_later_captures(device):
    x = torch.ones(1024, device=device)
    first = capture(lambda x: x * 2, x)
    second = capture(chain, x, pool=first.pool)
    first.replay()
    second.replay()
    assert first.output.eq(2).all() and second.output.eq(36).all()


def test_a_graph_outlives_the_others_of_its_pool(device):
    """pytorch 193402: what a destroyed graph gives back may still be in use by the others."""
    weight = torch.randn(256, 256, device=device)
    x = torch.randn(256, 256, device=device)
    first = capture(lambda x: (x @ weight) @ weight, x)
    second = capture(lambda x: (x @ weight).t() @ weight, x, pool=first.pool)
    third = capture(lambda x: x @ weight, x)
    del first, third
    gc.collect()
    if device.type == "cuda":
        torch.cuda.empty_cache()
    kept = junk(device)
    for _ in range(2):
        x.copy_(torch.randn(256, 256, device=device))
        torch.testing.assert_close(second.replay(), (x @ weight).t() @ weight)
    assert len(kept) == 32


def test_an_output_outlives_its_graph(device):
    x = torch.ones(1024, device=device)
    graph = capture(chain, x)
    output = graph.replay()
    assert output.eq(36).all()
    del graph
    gc.collect()
    kept = junk(device)
    assert output.eq(36).all() and len(kept) == 32


def test_a_graph_keeps_what_its_step_holds(device):
    """Weights of a step that nobody else holds: freed, they would be overwritten by whatever comes next."""

    def of_a_table():
        table, x = torch.arange(1024.0, device=device), torch.zeros(4, dtype=torch.long, device=device)
        return x, capture(lambda x: table[x] * 2, x)

    x, graph = of_a_table()
    gc.collect()
    kept = junk(device)
    x.fill_(7)
    assert graph.replay().eq(14).all() and len(kept) == 32


def test_warm_up_runs_on_the_stream_that_is_captured(device):
    streams, own = [], None
    x = torch.ones(3, device=device)

    def step(x):
        streams.append(torch.cuda.current_stream() if device.type == "cuda" else "the CPU has none")
        return x + 1

    capture(step, x, warmup=3)
    assert len(streams) == 4 and len(set(streams)) == 1
    if device.type == "cuda":
        assert streams[0] != torch.cuda.current_stream()
        own = torch.cuda.Stream()
        graph = capture(step, x, stream=own)
        assert streams[-1] == own
        with pytest.raises(ValueError, match="not both"):
            capture(step, x, stream=own, pool=graph.pool)
    else:
        with pytest.raises(ValueError, match="no streams"):
            capture(step, x, stream="any")


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
def test_work_on_another_stream_is_silently_missing():
    """SageAttention 371. It runs once, during the capture, and in no replay. A CPU has nothing like it."""
    x, y = torch.zeros(3, device="cuda"), torch.zeros(3, device="cuda")
    other = torch.cuda.Stream()

    def step(x):
        with torch.cuda.stream(other):
            y.add_(1)
        return x + 1

    graph = capture(step, x, warmup=0)
    torch.cuda.synchronize()
    before = y[0].item()
    graph.replay()
    torch.cuda.synchronize()
    assert graph.output.eq(1).all()
    assert y[0].item() == before


def test_random_numbers_advance_from_replay_to_replay(device):
    x = torch.zeros(64, device=device)

    def step(x):
        noise = torch.empty(64, device=device).normal_()
        return torch.rand(64, device=device), torch.nn.functional.dropout(x + 1, 0.5), noise

    graph = capture(step, x)
    first = [part.clone() for part in graph.replay()]
    second = [part.clone() for part in graph.replay()]
    for a, b in zip(first, second, strict=True):
        assert a.isfinite().all() and b.isfinite().all() and not torch.equal(a, b)


def test_replays_draw_what_eager_code_would_draw(device):
    """pytorch 84614: a seed set before a replay counts, and the recording itself draws nothing."""
    torch.manual_seed(3)
    graph = capture(lambda: torch.rand(64, device=device), device=device, warmup=0)
    after_capture = torch.rand(64, device=device)
    torch.manual_seed(3)
    assert torch.equal(torch.rand(64, device=device), after_capture)

    draws = {}
    for seed in (1, 2, 1):
        torch.manual_seed(seed)
        eager = [torch.rand(64, device=device) for _ in range(3)]
        torch.manual_seed(seed)
        mixed = [graph.replay().clone(), torch.rand(64, device=device), graph.replay().clone()]
        assert all(torch.equal(a, b) for a, b in zip(eager, mixed, strict=True))
        draws.setdefault(seed, []).append(mixed[0])
    assert torch.equal(*draws[1]) and not torch.equal(draws[1][0], draws[2][0])


def test_a_generator_of_ones_own_is_passed_to_capture(device):
    generator = torch.Generator(device)
    other = torch.zeros(64, device=device)
    graph = capture(
        lambda: torch.rand(64, device=device, generator=generator),
        device=device,
        generators=[generator],
    )
    generator.manual_seed(5)
    eager = torch.rand(64, device=device, generator=generator)
    generator.manual_seed(5)
    assert torch.equal(graph.replay(), eager)
    assert not torch.equal(graph.replay(), eager)
    assert other.eq(0).all()


def test_inside_inference_mode_too(device):
    with torch.inference_mode():
        x = torch.ones(3, device=device)
        graph = capture(lambda x: torch.nn.functional.linear(x, torch.ones(2, 3, device=device)).add_(1), x)
        assert graph.replay().tolist() == [4, 4]
        x.fill_(2)
    assert graph.replay().tolist() == [7, 7]
