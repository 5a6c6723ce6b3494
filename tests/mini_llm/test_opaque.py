"""Compiled code on the tape: it really runs at each replay, as one operator."""

import pytest
import torch
from test_tape import recorded

from mini_llm.graphs import capture
from mini_llm.tape import Tape, opaque


@pytest.fixture
def compiled():
    """Compile with a backend that counts how often its code runs: `compiled(fn)`, `compiled.runs`."""

    def compile(fn):
        def backend(module, example_inputs):
            def run(*args):
                compile.runs += 1
                return module(*args)

            compile.compilations += 1
            return run

        return torch.compile(fn, backend=backend)

    torch._dynamo.reset()
    compile.runs = compile.compilations = 0
    yield compile
    torch._dynamo.reset()


def piece(x, cache, more=None):
    cache.add_(x)
    extra = sum(more["list"]) if more else 0
    return {"out": (x * 2 + 1).relu() + extra, "sum": x.sum()}, None, 3


def test_a_compiled_piece_runs_compiled_at_every_replay(compiled):
    fast = opaque(compiled(piece), mutates=[1])
    x, cache, more = torch.ones(3), torch.zeros(3), {"list": [torch.ones(3), torch.ones(3)]}
    graph = capture(lambda x: fast(x, cache, more), x, warmup=1)
    assert (compiled.runs, cache.tolist()) == (1, [1, 1, 1])
    for replays in (1, 2):
        x.fill_(replays)
        more["list"][0].fill_(10)
        outputs, none, number = graph.replay()
        assert compiled.runs == 1 + replays
        assert outputs["out"].tolist() == [2 * replays + 12] * 3 and outputs["sum"].item() == 3 * replays
        assert none is None and number == 3
    assert cache.tolist() == [4, 4, 4]
    assert compiled.compilations == 1


def test_it_is_one_operator_on_the_tape(compiled):
    fast, again = compiled(lambda x: (x + 1).relu() * 3), compiled(lambda x: x + 2)
    assert recorded(lambda x: opaque(again)(opaque(fast)(x)) + 1, torch.ones(3)) == [fast, again, "add.Tensor"]


def test_without_it_compiled_code_silently_does_not_run_and_is_none_the_worse(compiled):
    fast = compiled(lambda x: x * 2 + 1)
    x = torch.ones(3)
    graph = capture(fast, x, warmup=1)
    assert compiled.runs == 1  # in the warm-up alone
    assert graph.replay().tolist() == [3, 3, 3] and compiled.runs == 1
    with torch.no_grad():
        fast(x)
    assert compiled.runs == 2  # outside it still does


@pytest.mark.slow
def test_inductors_own_code_runs_on_the_tape():
    from torch._inductor.compile_fx import compile_fx

    runs = []

    def backend(module, example_inputs):
        code = compile_fx(module, example_inputs)
        return lambda *args: (runs.append(1), code(*args))[1]

    torch._dynamo.reset()
    fast = opaque(torch.compile(lambda x, w: torch.softmax(x @ w, -1) * x, backend=backend))
    x, w = torch.randn(8, 8), torch.randn(8, 8)
    graph = capture(fast, x, w)
    for _ in range(2):
        x.copy_(torch.randn(8, 8))
        before = len(runs)
        torch.testing.assert_close(graph.replay(), torch.softmax(x @ w, -1) * x)
        assert len(runs) == before + 1


def test_outside_of_a_recording_it_is_the_function_itself():
    fast = opaque(lambda x: x + 1)
    graph = capture(lambda x: fast(x) * 2, torch.ones(3))
    assert fast(torch.ones(3)).tolist() == [2, 2, 2]
    assert graph.replay().tolist() == [4, 4, 4]


def test_a_piece_that_fails_leaves_the_tape_usable(compiled):
    def broken(x):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError):
        capture(opaque(broken), torch.ones(3), warmup=0)
    assert Tape.recording is None
    fast = opaque(compiled(lambda x: x + 1))
    assert capture(fast, torch.ones(3)).replay().tolist() == [2, 2, 2]
