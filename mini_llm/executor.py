"""How each batch runs: the dispatcher names the mode, one of three runners does it.

NONE runs the step eagerly, at its own size, whatever it is. PIECEWISE replays the graphs between attention calls
(`piecewise.py`). FULL replays one graph of the whole step (`bucket_runner.py`): of uniform decode batches, or,
where attention can be captured for any batch, of every batch. All share buffers, cache and one memory pool.
"""

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import replace

import torch

from mini_llm.attention import AttentionBackend, forward_context
from mini_llm.batch import BatchInput, StepBuffers, StepInputs, build_batch
from mini_llm.bucket_runner import BucketRunner, memory_left
from mini_llm.dispatch import BatchDescriptor, CudagraphDispatcher, CUDAGraphMode
from mini_llm.paged import PagedKVCache
from mini_llm.piecewise import PiecewiseRunner, SplitStep
from mini_llm.step import hidden_states, logits

logger = logging.getLogger(__name__)
FULL, PIECEWISE = CUDAGraphMode.FULL, CUDAGraphMode.PIECEWISE


class Executor:
    """Runs batches of `model`: `run(batch)` gives logits [M, vocab], in the mode that `dispatcher` names.

    `step(inputs)` maps StepInputs to logits: a SplitStep where the mode is PIECEWISE for some batches, None for
    the plain step. `decode_step(inputs)`, if given, takes the place of it in graphs of decode batches with one
    token per request; its `.kv` is set to the cache in use, `.logits` is where it leaves its rows. `use_cache` comes
    first, then `capture`.
    """

    def __init__(
        self,
        model,
        backend: AttentionBackend,
        buffers: StepBuffers,
        dispatcher: CudagraphDispatcher,
        step: Callable[[StepInputs], torch.Tensor] | None = None,
        decode_step: Callable[[StepInputs], torch.Tensor] | None = None,
    ):
        self.model, self.backend, self.buffers, self.dispatcher = model, backend, buffers, dispatcher
        self.step = step or self._plain_step
        self.decode_step = decode_step if dispatcher.query_len == 1 else None
        self.device = model.embed_tokens.weight.device
        self._rows = torch.arange(buffers.max_tokens, device=self.device)
        self.kv: PagedKVCache | None = None
        self.pieces: PiecewiseRunner | None = None
        self.full: dict[bool, BucketRunner] = {}  # by whether the graphs are for uniform batches
        self.steps = dict.fromkeys((CUDAGraphMode.NONE, PIECEWISE, FULL), 0)  # how often each mode ran
        self.capture_seconds = self.captured_bytes = 0

    def use_cache(self, kv: PagedKVCache) -> None:
        """Keep keys and values in `kv` from here on. Graphs of another cache are given up."""
        self.kv, self.pieces, self.full = kv, None, {}
        if isinstance(self.step, SplitStep):  # a fused one writes keys and values by itself
            self.step.use_cache(kv)
        if self.decode_step is not None:
            self.decode_step.kv = kv

    # --- run --------------------------------------------------------------------------------------

    @torch.no_grad()
    def run(self, batch: BatchInput) -> torch.Tensor:
        """Logits [M, vocab] of `batch`. They may lie in memory that the next `run` overwrites."""
        uniform = batch.query_len() == self.dispatcher.query_len
        mode, key = self.dispatcher.dispatch(len(batch.input_ids), uniform)
        self.steps[mode] += 1
        if mode is PIECEWISE:
            return self.pieces.run(batch)
        if mode is FULL:
            rows = self.full[key.uniform].run(batch, clone=False)
            # A decode graph computes a row for each token: several per request are all wanted, to verify drafts.
            wanted = batch.logits_indices
            return rows if not key.uniform or len(wanted) == len(rows) else rows[wanted.to(self.device)]
        return self._run_eagerly(batch)

    def _run_eagerly(self, batch: BatchInput) -> torch.Tensor:
        inputs = self.buffers.set(batch)
        with forward_context(self.kv, self.backend, inputs):
            return self.step(inputs)

    def _plain_step(self, inputs: StepInputs) -> torch.Tensor:
        hidden = hidden_states(self.model, inputs.input_ids, inputs.positions)
        return logits(self.model, hidden[inputs.logits_indices])

    def _full_step(self, inputs: StepInputs) -> torch.Tensor:
        """What a graph of the whole step holds: logits of each request's row, or of all rows if it is uniform."""
        uniform = inputs.runs is not None
        if uniform and self.decode_step is not None:
            return self.decode_step(inputs)
        if uniform:
            inputs = replace(inputs, logits_indices=self._rows[: len(inputs.input_ids)])
        with forward_context(self.kv, self.backend, inputs):
            return self.step(inputs)

    # --- capture ----------------------------------------------------------------------------------

    @torch.no_grad()
    def warm_up(self) -> None:
        """Run the step of every FULL size once, on padding: kernels are compiled at their first run.

        To be called before the first batch, while the buffers hold nothing but padding.
        """
        for key in sorted(self.dispatcher.keys[FULL], key=lambda key: key.num_tokens):
            self._full_step(self.buffers.view(key.num_tokens, key.num_reqs, key.uniform))

    def capture(self, progress: bool = False) -> None:
        """Capture every graph that the dispatcher knows, PIECEWISE before FULL, and say what it took."""
        keys = self.dispatcher.keys
        if not any(keys.values()):
            return
        start, before = time.perf_counter(), self._held()
        self._capture({mode: list(keys[mode]) for mode in keys}, progress)
        self.capture_seconds, self.captured_bytes = time.perf_counter() - start, self._held() - before
        logger.info(
            "%d PIECEWISE and %d FULL sizes captured in %.2f s; their graphs hold %.2f GiB",
            len(keys[PIECEWISE]), len(keys[FULL]), self.capture_seconds, self.captured_bytes / 2**30,
        )  # fmt: skip

    @torch.no_grad()
    def bytes_to_reserve(self) -> int:
        """Memory that steps and graphs will need besides weights and cache.

        Measured, since with a guess that is too low the capture runs out of memory (vllm 57475). Runs the
        largest eager step, and captures the largest size of each kind, with the cache in use, which may be of
        two blocks: nothing but the null block is touched. The graphs are given up again.
        """
        logger.info("measuring what the largest step and graphs need")
        activations = self._largest_step()
        largest = {mode: largest_of_each_kind(keys) for mode, keys in self.dispatcher.keys.items()}
        if not any(largest.values()):
            return activations
        before = self._held()
        pool = self._capture(largest, progress=False)
        # A pool serves all sizes with what the largest needs; what else a graph costs, each graph costs.
        shared = pool.nbytes + self._output_bytes()
        rest = max(self._held() - before - shared, 0)
        graphs, captured = (sum(map(len, each.values())) for each in (self.dispatcher.keys, largest))
        self.use_cache(self.kv)
        return activations + int(1.2 * shared) + rest * graphs // captured

    def _capture(self, keys: dict, progress: bool):
        """Capture these keys; the pool of all graphs."""
        pool, sizes = None, sorted(key.num_tokens for key in keys[PIECEWISE])
        if sizes:
            self.pieces = PiecewiseRunner(self.step, self.kv, self.backend, self.buffers, sizes)
            self.pieces.capture(progress=progress)
            pool = self.pieces.pool
        for uniform in (False, True):
            sizes = [key.num_tokens for key in keys[FULL] if key.uniform is uniform]
            if sizes:
                query_len = self.dispatcher.query_len if uniform else None
                # the kernels of the final rung write to a buffer of their own
                output = self.decode_step.logits if uniform and self.decode_step is not None else None
                runner = BucketRunner(self._full_step, self.buffers, sizes, query_len, uniform, pool, output)
                runner.capture(progress=progress)
                self.full[uniform], pool = runner, runner.pool
        return pool

    def _held(self) -> int:
        """Bytes in use on this device: of a GPU as a whole, on a CPU those of the graphs."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
            torch.cuda.empty_cache()
            free, total = torch.cuda.mem_get_info(self.device)
            return total - free
        pools = {id(runner.pool): runner.pool for runner in (self.pieces, *self.full.values()) if runner is not None}
        return sum(pool.nbytes for pool in pools.values()) + self._output_bytes()

    def _output_bytes(self) -> int:
        """Of the buffers that runners made for their results; the decode step's own was there before."""
        given = getattr(self.decode_step, "logits", None)
        return sum(each.output.nbytes for each in self.full.values() if each.output is not given)

    def _largest_step(self) -> int:
        """The bytes that an eager step of the most tokens needs while it runs; 0 on a CPU, which does not count."""
        if self.device.type != "cuda":
            return 0
        longest = self.buffers.max_blocks * self.kv.block_size
        left, items = self.buffers.max_tokens, []
        while left and len(items) < self.buffers.max_reqs:
            n = min(longest, left)
            items.append(([0] * n, longest - n, [0] * self.buffers.max_blocks, True))
            left -= n
        torch.cuda.reset_peak_memory_stats(self.device)
        before = torch.cuda.memory_allocated(self.device)
        self._run_eagerly(build_batch(items, self.kv.block_size))
        return torch.cuda.max_memory_allocated(self.device) - before


def largest_of_each_kind(keys: Iterable[BatchDescriptor]) -> list[BatchDescriptor]:
    """The key with the most tokens among those for uniform batches, and among the others."""
    return list({key.uniform: key for key in sorted(keys, key=lambda key: key.num_tokens)}.values())


def blocks_that_fit(free: int, reserve: int, share: float, bytes_per_block: int, wanted: int) -> int:
    """How many blocks the cache gets: `wanted`, or as many as fit into `share` of what is free after `reserve`.

    Raises ValueError when not even the null block and one more fit.
    """
    fit = int(share * (free - reserve)) // bytes_per_block
    if fit < 2:
        raise ValueError(
            f"no memory for a KV cache: {free / 2**30:.2f} GiB are free, and steps and graphs need "
            f"{reserve / 2**30:.2f} GiB of it; lower max_num_batched_tokens, capture sizes or max_model_len"
        )
    return min(wanted, fit)


def free_bytes(device: torch.device) -> int:
    """Memory that a cache may be put into; a system that does not tell is taken to have 4 GiB."""
    left = memory_left(device)
    return 4 * 2**30 if left is None else left
