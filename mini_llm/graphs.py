"""Record a step once, replay it with one call: CUDA graphs on a GPU, the tape on a CPU, one interface.

`capture` warms a step up, records it and gives a `Graph`. The graph reads and writes the addresses of its
recording, so new inputs have to be copied to where the old ones lie, and an output has to be used, or
copied, before the next replay. `CapturedStep` does both copies and looks like the step itself.
"""

import gc
import threading
from collections.abc import Callable, Sequence
from contextlib import contextmanager, suppress

import torch
from torch.utils._pytree import tree_leaves, tree_map_only

from mini_llm.capture_rules import CaptureError, first_offence
from mini_llm.tape import Tape, TapePool

# What CUDA refuses while a stream is captured: unsafe calls of any thread, of this thread, or none of them.
ERROR_MODES = ("global", "thread_local", "relaxed")

_capture_lock = threading.Lock()  # CUDA can capture one graph at a time in a process, and so do we


class Graph:
    """A recorded step. `inputs` and `output` are the very tensors it reads and writes; `pool` is its memory.

    `output` holds garbage until the first replay, and is overwritten by the next replay of this graph or of
    another one in the same pool. The graph keeps its pool alive, and the pool keeps all its graphs. It keeps the
    step too, `fn`: a weight that nobody else holds would be freed, and the graph would read what came in its place.
    """

    def __init__(self, inputs: tuple, output, pool, replay: Callable[[], None], fn: Callable):
        self.inputs, self.output, self.pool = inputs, output, pool
        self._replay, self._fn = replay, fn

    def replay(self):
        """Run the recorded kernels again and return `output`. On a GPU it does not wait for them.

        Raises CaptureError during a capture: one graph cannot hold another.
        """
        if _capture_lock.locked():
            raise CaptureError("a graph cannot be replayed while another is captured: do it before or after")
        self._replay()
        return self.output


def capture(
    fn: Callable,
    *static_inputs,
    warmup: int = 2,
    pool=None,
    stream=None,
    device=None,
    capture_error_mode: str = "global",
    generators=(),
) -> Graph:
    """Run `fn(*static_inputs)` `warmup` times, record one more run, and return the graph of it.

    The device is that of the tensors in `static_inputs`; name it when there are none. `pool` is another
    graph's `.pool`, to share its memory: capture the largest graph first, and never run two at once.
    `generators` are the random generators that `fn` uses besides the default one. `stream` is the CUDA
    stream to capture on; by default a pool has one of its own.

    Raises CaptureError, and names the call, when `fn` does what a graph cannot hold; errors of `fn` itself
    come out as they are. Either way the device, the pool and its other graphs stay usable.
    """
    device = device_of(static_inputs) if device is None else torch.device(device)
    if capture_error_mode not in ERROR_MODES:
        raise ValueError(f"capture_error_mode is one of {', '.join(ERROR_MODES)}, not {capture_error_mode!r}")
    if pool is not None and stream is not None:
        raise ValueError("a pool has its own stream: pass pool or stream, not both")
    if pool is not None and pool.device.type != device.type:
        raise ValueError(f"the pool is memory of {pool.device.type}, and the inputs are on {device.type}")
    with _only_capture(), torch.no_grad():
        pool = new_pool(device, stream) if pool is None else pool
        warm_up(fn, static_inputs, warmup, pool)
        return _record(fn, static_inputs, pool, capture_error_mode, generators)


def new_pool(device, stream=None) -> "CudaPool | TapePool":
    """Memory for the results of graphs that never run at once, with the stream that they are captured on."""
    device = torch.device(device)
    return backend_for(device).new_pool(device, stream)


def record(fn: Callable, *static_inputs, pool) -> Graph:
    """`capture` without the warm-up: record the next run of `fn(*static_inputs)`, and return the graph of it."""
    with _only_capture(), torch.no_grad():
        return _record(fn, static_inputs, pool)


def _record(fn, static_inputs, pool, capture_error_mode="global", generators=()) -> Graph:
    with _no_garbage_collection():
        output, replay = backend_for(pool.device).record(fn, static_inputs, pool, capture_error_mode, generators)
    return Graph(static_inputs, output, pool, replay, fn)


def warm_up(fn: Callable, inputs: Sequence, times: int, pool) -> None:
    """Run `fn(*inputs)` `times` times on the stream that will be captured, `pool`'s.

    Libraries set themselves up at a first call, per stream, with work that must not end up in a graph.
    Whatever autotunes may need a second call.
    """
    with pool.on_stream():
        for _ in range(times):
            fn(*inputs)


@torch.no_grad()
def copy_in(buffers: Sequence[torch.Tensor], values: Sequence[torch.Tensor]) -> None:
    """Copy each of `values` to where the graph reads it: into the memory of the buffer in the same place.

    ValueError, and nothing is copied, when there are more or fewer values than buffers, or when one has
    another shape or dtype than its buffer. It names the input, and what it was captured as and came as.
    """
    if len(values) != len(buffers):
        raise ValueError(f"the captured step takes {len(buffers)} inputs, not {len(values)}")
    for place, (buffer, value) in enumerate(zip(buffers, values, strict=True)):
        # copy_ would cast and broadcast in silence
        if value.shape != buffer.shape or value.dtype != buffer.dtype:
            raise ValueError(
                f"input {place} was captured as {buffer.dtype} {list(buffer.shape)}, "
                f"and a graph cannot take {value.dtype} {list(value.shape)}"
            )
    for buffer, value in zip(buffers, values, strict=True):
        buffer.copy_(value)


class CapturedStep:
    """`step(*tensors)` behind a graph: called like the step, on tensors of the shapes it was captured with.

    Inputs are copied to the graph's own buffers, and results are clones, so the caller may keep both.
    """

    def __init__(self, step: Callable, *examples: torch.Tensor, warmup: int = 2, pool=None):
        """Warm `step` up on copies of `examples`, `warmup` times, and record it there; `pool` as in `capture`."""
        self.buffers = tuple(example.detach().clone() for example in examples)
        self.graph = capture(step, *self.buffers, warmup=warmup, pool=pool)

    def __call__(self, *inputs: torch.Tensor):
        """What the step returns for `inputs`, its tensors cloned. ValueError where `copy_in` raises it."""
        copy_in(self.buffers, inputs)
        return tree_map_only(torch.Tensor, torch.clone, self.graph.replay())


def device_of(inputs) -> torch.device:
    """The one device of the tensors in `inputs`. ValueError when there is none, or more than one."""
    devices = {leaf.device for leaf in tree_leaves(inputs) if isinstance(leaf, torch.Tensor)}
    if len(devices) != 1:
        found = " and ".join(sorted(map(str, devices))) or "no tensor"
        raise ValueError(f"static inputs lie on one device, but here is {found}: name it with device=...")
    return devices.pop()


def backend_for(device) -> "CudaBackend | TapeBackend":
    """What captures on this device. ValueError for one that is neither a GPU of CUDA's kind nor a CPU."""
    kind = torch.device(device).type
    if kind not in _BACKENDS:
        raise ValueError(f"graphs are captured on cuda, or on a tape on cpu, not on {kind}")
    return _BACKENDS[kind]


class TapeBackend:
    """Capture on a CPU."""

    def new_pool(self, device, stream=None) -> TapePool:
        if stream is not None:
            raise ValueError("a CPU has no streams: leave stream=None")
        return TapePool()

    def record(self, fn, inputs, pool, capture_error_mode, generators):
        tape = Tape(pool, generators)
        return tape.record(fn, inputs), tape.replay


class CudaPool:
    """The private memory of graphs that never run at once, and the stream they are captured on.

    No graph is destroyed before its pool. Kernels of a destroyed graph may share what the others still
    use: cuBLAS keeps its workspace by stream, and drops it with any graph of that stream (pytorch 193402).
    """

    def __init__(self, device: torch.device, stream=None):
        index = torch.cuda.current_device() if device.index is None else device.index
        self.device = torch.device("cuda", index)
        self.stream = stream or torch.cuda.Stream(self.device)
        self.handles = [torch.cuda.graph_pool_handle()]  # captures go to the last one
        self.graphs: list[torch.cuda.CUDAGraph] = []

    @property
    def nbytes(self) -> int:
        """Bytes held, in use or free."""
        segments = torch.cuda.memory_snapshot()
        return sum(s["total_size"] for s in segments if tuple(s["segment_pool_id"]) in self.handles)

    @contextmanager
    def on_stream(self):
        """Work in here runs on the pool's stream: after what was launched before, before what comes after."""
        outside = torch.cuda.current_stream(self.device)
        self.stream.wait_stream(outside)
        try:
            with torch.cuda.stream(self.stream):
                yield
        finally:
            outside.wait_stream(self.stream)

    def new_graph(self, generators) -> torch.cuda.CUDAGraph:
        graph = torch.cuda.CUDAGraph()
        for generator in generators:
            graph.register_generator_state(generator)
        self.graphs.append(graph)
        return graph


class CudaBackend:
    """Capture with CUDA graphs."""

    def new_pool(self, device, stream=None) -> CudaPool:
        return CudaPool(device, stream)

    def record(self, fn, inputs, pool, capture_error_mode, generators):
        graph = pool.new_graph(generators)
        torch.cuda.synchronize(pool.device)
        output, failure, broken = None, None, None
        with torch.cuda.stream(pool.stream):
            graph.capture_begin(pool=pool.handles[-1], capture_error_mode=capture_error_mode)
            try:
                output = fn(*inputs)
            except BaseException as error:
                failure = error
            try:  # always, or the stream would stay in capture mode
                graph.capture_end()
            except RuntimeError as error:
                broken = error
        if broken is not None:
            self._recover(pool, generators)
        if failure is None and broken is None:
            return output, graph.replay
        if failure is None or (isinstance(failure, RuntimeError) and not isinstance(failure, CaptureError)):
            offence = first_offence(fn, inputs, generators)
            if offence is None and broken is not None:
                offence = CaptureError(f"CUDA could not capture the step: {failure or broken}")
            if offence is not None:
                raise offence from (failure or broken)
        raise failure

    def _recover(self, pool: CudaPool, generators) -> None:
        """Put in order what a capture leaves behind that CUDA broke off: PyTorch ends only a whole one."""
        with suppress(AttributeError, RuntimeError):  # it may have been ended after all
            torch._C._cuda_endAllocateToPool(pool.device.index, pool.handles[-1])
        pool.handles.append(torch.cuda.graph_pool_handle())
        # Random generators still believe that they are captured, until some capture ends well.
        spare = torch.zeros(1, device=pool.device)
        graph = pool.new_graph(generators)
        torch.cuda.synchronize(pool.device)
        with torch.cuda.stream(pool.stream):
            graph.capture_begin(pool=pool.handles[-1])
            spare.add_(1)
            graph.capture_end()


_BACKENDS = {"cuda": CudaBackend(), "cpu": TapeBackend()}


@contextmanager
def _only_capture():
    """Refuse a capture inside a capture; the outer one goes on."""
    if not _capture_lock.acquire(blocking=False):
        raise CaptureError("a capture is under way already: one graph cannot be captured inside another")
    try:
        yield
    finally:
        _capture_lock.release()


@contextmanager
def _no_garbage_collection():
    """A graph that happens to be collected during a capture would destroy the capture (pytorch 161037)."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
