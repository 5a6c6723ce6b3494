"""One graph per batch size: capture them all at start-up, then run any batch in the smallest that fits.

A batch is copied into buffers that never move and padded up to a captured size; rows of padding write to
no slot, see no key, and their results are dropped. A batch that no graph fits runs eagerly, so no batch is
ever an error. All graphs share one pool and write their results to one buffer: the largest comes first, and
the others cost next to nothing.
"""

import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch

from mini_llm.batch import BatchInput, StepBuffers, StepInputs
from mini_llm.buckets import pad_to
from mini_llm.graphs import Graph, capture

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Bucket:
    """A captured size: its graph, the addresses that it reads, and how many rows it writes."""

    graph: Graph
    addresses: list[int]
    rows: int


class BucketRunner:
    """`step(inputs)` for batches whose requests have `query_len` tokens each, behind one graph per size.

    `step` takes StepInputs and returns one row for each of `inputs.logits_indices` (`per_token`: for each
    token), by operators that a graph can hold. `sizes` are in tokens. With `query_len=None` any batch may
    come: then the attention backend has to support ALWAYS. `pool` is shared with graphs captured before.
    `output`: a step that leaves its rows there itself needs no buffer, and no copy to it.
    Raises ValueError for a size that is not whole requests, or larger than the buffers.
    """

    def __init__(
        self,
        step: Callable[[StepInputs], torch.Tensor],
        buffers: StepBuffers,
        sizes: Sequence[int],
        query_len: int | None = 1,
        per_token: bool = False,
        pool=None,
        output: torch.Tensor | None = None,
    ):
        self.step, self.buffers, self.pool = step, buffers, pool
        self.query_len, self.per_token = query_len, per_token
        self.sizes = sorted(set(sizes))
        for size in self.sizes:
            if query_len is not None and size % query_len:
                raise ValueError(f"capture size {size} is not whole requests of {query_len} tokens")
            self._view(size)  # a size above the buffers is an error now, not at the first large batch
        self.buckets: dict[int, Bucket] = {}
        self.output = output  # the rows of every size: as large as the largest needs

    @torch.no_grad()
    def capture(self, warmup: int = 2, progress: bool = False) -> None:
        """Capture every size, from large to small, and say in the log how long it took and what it holds.

        Whatever the buffers hold is overwritten with padding. `progress` shows a bar on stderr.
        """
        start, buckets = time.perf_counter(), {}
        for size in with_progress(list(reversed(self.sizes)), self.buffers.device, progress):
            buckets[size] = self._capture_size(size, warmup)
        self.buckets = buckets
        if self.buffers.device.type == "cuda":
            torch.cuda.empty_cache()  # what only the warm-up needed
        log_capture("graphs", self, time.perf_counter() - start)

    def size_for(self, batch: BatchInput) -> int | None:
        """The captured size that `batch` runs at; None when no graph can take it."""
        if self.query_len is not None and batch.query_len() != self.query_len:
            return None
        size = pad_to(len(batch.input_ids), self.sizes)
        if size not in self.buckets or self._rows(batch) > self.buckets[size].rows:
            return None
        return size

    def can_run(self, batch: BatchInput) -> bool:
        """Whether a graph can take this batch."""
        return self.size_for(batch) is not None

    @torch.no_grad()
    def run(self, batch: BatchInput, clone: bool = True) -> torch.Tensor:
        """The step's rows for `batch`, from a graph where one fits, else from an eager step.

        With `clone=False` they are the graphs' own memory, which the next `run` overwrites: for a caller
        that uses them at once. Then nothing is allocated.
        """
        size = self.size_for(batch)
        if size is None:
            return self.step(self.buffers.set(batch))
        inputs = self.buffers.set(batch, *self._shape(size))
        bucket = self.buckets[size]
        if addresses(inputs) != bucket.addresses:
            raise RuntimeError("the step's buffers have moved since the capture: the graphs read the old memory")
        bucket.graph.replay()
        rows = self.output[: self._rows(batch)]
        return rows.clone() if clone else rows

    def _capture_size(self, size: int, warmup: int) -> Bucket:
        inputs = self._view(size)
        fill_with_padding(inputs)  # or warming up would write over keys of the last batch
        if self.output is None:
            self.output = torch.empty_like(self.step(inputs))

        def step():
            rows = self.step(inputs)
            if rows.data_ptr() != self.output.data_ptr():  # an output per graph would add up over all sizes
                self.output[: len(rows)].copy_(rows)
            return len(rows)

        graph = capture(step, warmup=warmup, pool=self.pool, device=self.output.device)
        self.pool = graph.pool
        return Bucket(graph, addresses(inputs), rows=graph.output)

    def _rows(self, batch: BatchInput) -> int:
        """How many rows of a result are not padding."""
        return len(batch.input_ids if self.per_token else batch.logits_indices)

    def _view(self, size: int) -> StepInputs:
        return self.buffers.view(*self._shape(size))

    def _shape(self, size: int) -> tuple[int, int | None, bool]:
        """Tokens, requests, uniform: the numbers by which StepBuffers knows this graph's inputs."""
        return (size, None, False) if self.query_len is None else (size, size // self.query_len, True)


def fill_with_padding(inputs: StepInputs) -> None:
    """Make every row one of padding: written to no slot (-1), of length 0, in the null block (0)."""
    for tensor in tensors(inputs).values():
        tensor.zero_()
    inputs.slot_mapping.fill_(-1)


def tensors(inputs) -> dict[str, torch.Tensor]:
    """The tensors among an object's fields."""
    return {name: value for name, value in vars(inputs).items() if isinstance(value, torch.Tensor)}


def addresses(inputs) -> list[int]:
    """Where those tensors lie: what a graph has instead of their names."""
    # logits_indices has no address when it is empty; it lies behind the others, and would move with them
    return [tensor.data_ptr() for name, tensor in tensors(inputs).items() if name != "logits_indices"]


def log_capture(what: str, runner, seconds: float) -> None:
    if runner.sizes:
        logger.info(
            "captured %s of %d sizes, %d to %d, in %.2f s; their pool holds %.2f GiB",
            what, len(runner.sizes), runner.sizes[0], runner.sizes[-1], seconds, runner.pool.nbytes / 2**30,
        )  # fmt: skip


def memory_left(device: torch.device) -> int | None:
    """Free bytes of a GPU, or of this machine for a CPU; None where the system does not tell."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):  # macOS, Windows
        return None


def with_progress(sizes: Sequence[int], device: torch.device, show: bool) -> Iterator[int]:
    """`sizes`, one by one; with `show`, a bar on stderr says which one is next and how much memory is left."""
    if not show:
        yield from sizes
        return
    from tqdm import tqdm

    with tqdm(sizes, desc="capturing", unit="size", mininterval=0) as bar:
        for size in bar:
            left = memory_left(device)
            bar.set_postfix_str(f"size {size}" + ("" if left is None else f", {left / 2**30:.1f} GiB left"))
            yield size
