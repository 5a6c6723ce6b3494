"""What the CUDA backend does around a capture, checked without a GPU: a stand-in for CUDA notes every call.

That real CUDA behaves like the stand-in is what the conformance suite is for.
"""

import gc
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
import torch

from mini_llm import graphs
from mini_llm.capture_rules import CaptureError
from mini_llm.graphs import CudaBackend, CudaPool, backend_for, capture, device_of, warm_up

CPU = torch.device("cpu")


class FakeStream:
    def __init__(self, name="default"):
        self.name = name

    def wait_stream(self, other):
        EVENTS.append(f"{self.name} waits for {other.name}")


EVENTS = []


@pytest.fixture
def cuda(monkeypatch):
    """`cuda.break_next = True`: CUDA breaks off the next capture, as it does for a host read."""
    EVENTS.clear()
    state = SimpleNamespace(stream=FakeStream(), break_next=False, pools=0, destroyed=[])

    class FakeGraph:
        def __init__(self):
            self.name = f"graph{sum(e.startswith('new') for e in EVENTS)}"
            EVENTS.append(f"new {self.name}")

        def register_generator_state(self, generator):
            EVENTS.append("register generator")

        def capture_begin(self, pool, capture_error_mode="global"):
            self.broken, state.break_next = state.break_next, False
            EVENTS.append(f"begin {self.name} on {state.stream.name} in {pool} {capture_error_mode}")

        def capture_end(self):
            EVENTS.append(f"end {self.name} on {state.stream.name}")
            if self.broken:
                raise RuntimeError("CUDA error: operation failed due to a previous error during capture")

        def replay(self):
            EVENTS.append(f"replay {self.name}")

        def __del__(self):
            state.destroyed.append(self.name)

    @contextmanager
    def on(stream):
        before, state.stream = state.stream, stream
        try:
            yield
        finally:
            state.stream = before

    def new_handle():
        state.pools += 1
        return (0, state.pools)

    fakes = {
        "CUDAGraph": FakeGraph, "Stream": lambda device: FakeStream("side"), "stream": on,
        "current_stream": lambda device=None: state.stream, "synchronize": lambda device: None,
        "graph_pool_handle": new_handle, "current_device": lambda: 0,
        "memory_snapshot": lambda: [
            {"total_size": 5, "segment_pool_id": (0, 1)}, {"total_size": 7, "segment_pool_id": (0, 0)},
        ],
    }  # fmt: skip
    for name, fake in fakes.items():
        monkeypatch.setattr(torch.cuda, name, fake)
    monkeypatch.setattr(torch._C, "_cuda_endAllocateToPool", lambda *a: EVENTS.append("release memory"), raising=False)
    monkeypatch.setitem(graphs._BACKENDS, "cpu", FakeBackend())
    return state


class FakePool(CudaPool):
    """Says that its device is the CPU, where the tensors of these tests are."""

    def __init__(self):
        super().__init__(torch.device("cuda"))
        self.device = CPU


class FakeBackend(CudaBackend):
    def new_pool(self, device, stream=None):
        return FakePool()


def test_warm_up_and_capture_run_on_the_pools_stream_and_the_caller_waits(cuda):
    streams = []
    graph = capture(lambda x: streams.append(cuda.stream.name) or x + 1, torch.ones(2), warmup=2)
    assert streams == ["side"] * 3 and cuda.stream.name == "default"
    assert EVENTS == [
        "side waits for default", "default waits for side", "new graph0",
        "begin graph0 on side in (0, 1) global", "end graph0 on side",
    ]  # fmt: skip
    graph.replay()
    assert EVENTS[-1] == "replay graph0"
    assert graph.pool.nbytes == 5


def test_a_stream_of_ones_own_the_error_mode_and_generators_are_passed_on(cuda):
    own = FakeStream("own")
    pool = CudaPool(torch.device("cuda", 1), own)
    assert (pool.stream, pool.device) == (own, torch.device("cuda", 1))
    capture(lambda x: x, torch.ones(2), warmup=0, capture_error_mode="relaxed", generators=[torch.Generator()])
    assert EVENTS[-3:] == ["register generator", "begin graph0 on side in (0, 2) relaxed", "end graph0 on side"]


def test_no_graph_is_destroyed_before_the_last_of_its_pool(cuda):
    """pytorch 193402."""
    first = capture(lambda x: x + 1, torch.ones(2))
    second = capture(lambda x: x + 2, torch.ones(2), pool=first.pool)
    del first
    gc.collect()
    assert cuda.destroyed == []
    second.replay()
    del second
    gc.collect()
    assert sorted(cuda.destroyed) == ["graph0", "graph1"]


def test_an_error_of_the_step_ends_the_capture_and_comes_out(cuda):
    def step(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        capture(step, torch.ones(2), warmup=0)
    assert EVENTS[-1] == "end graph0 on side" and cuda.stream.name == "default"
    capture(lambda x: x, torch.ones(2))


def test_what_cuda_broke_off_is_named_and_put_in_order(cuda):
    calls = []

    def step(x):
        calls.append(cuda.stream.name)
        if len(calls) == 1:
            raise RuntimeError("CUDA error: operation not permitted when stream is capturing")
        return x * x.sum().item()

    cuda.break_next = True
    with pytest.raises(CaptureError, match="Tensor.item") as refused:
        capture(step, torch.ones(2), warmup=0, generators=[torch.Generator()])
    assert "not permitted" in str(refused.value.__cause__)
    assert calls == ["side", "default"]  # once in the capture, once to find out
    assert EVENTS[2:] == [
        "new graph0", "register generator", "begin graph0 on side in (0, 1) global", "end graph0 on side",
        # memory and generators learn that the capture is over by one that ends well, in another pool
        "release memory",
        "new graph1", "register generator", "begin graph1 on side in (0, 2) global", "end graph1 on side",
    ]  # fmt: skip


def test_what_cuda_broke_off_for_a_reason_we_do_not_know(cuda):
    cuda.break_next = True
    with pytest.raises(CaptureError, match="CUDA could not capture the step: .*previous error"):
        capture(lambda x: x + 1, torch.ones(2), warmup=0)
    # the step swallowed its own error, and went on
    cuda.break_next = True

    def swallows(x):
        try:
            raise RuntimeError("CUDA error")
        except RuntimeError:
            return x.tolist()

    with pytest.raises(CaptureError) as refused:
        capture(swallows, torch.ones(2), warmup=0)
    assert refused.value.operator == "Tensor.tolist"


def test_an_error_of_another_kind_is_kept_though_cuda_broke_off_too(cuda):
    def step(x):
        raise ZeroDivisionError

    cuda.break_next = True
    with pytest.raises(ZeroDivisionError):
        capture(step, torch.ones(2), warmup=0)
    assert EVENTS[-1] == "end graph1 on side"


# --- without any CUDA -----------------------------------------------------------------------------


def test_the_backend_follows_the_device():
    assert isinstance(backend_for("cuda:1"), CudaBackend)
    assert backend_for("cpu") is backend_for(CPU)
    with pytest.raises(ValueError, match="not on mps"):
        backend_for("mps")


def test_device_of_looks_into_structures():
    assert device_of({"a": [torch.ones(1), 3], "b": None}) == CPU
    with pytest.raises(ValueError, match="cpu and meta"):
        device_of([torch.ones(1), torch.ones(1, device="meta")])


def test_a_pool_of_another_device_is_refused():
    pool = SimpleNamespace(device=torch.device("cuda"))
    with pytest.raises(ValueError, match="the pool is memory of cuda, and the inputs are on cpu"):
        capture(lambda x: x, torch.ones(1), pool=pool)


def test_warm_up_counts():
    runs = []
    pool = backend_for("cpu").new_pool(CPU)
    warm_up(runs.append, (1,), 3, pool)
    assert runs == [1, 1, 1]
