"""Faults that engines really had, put back in one at a time, and the check that has to notice each.

`FAULTS` maps the report to a Fault. To add one, here or in a module like planted_rules.py: write a function
that plants it with `monkeypatch`, name a check that passes without it, and, where it crashes and does not
just answer wrongly, the exception. `FAULTS_ON_GPU` holds those that only CUDA has.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
import torch
from bucket_checks import CHECKS

from mini_llm import bucket_runner, graphs
from mini_llm.attention import SDPABackend
from mini_llm.batch import Run, StepBuffers
from mini_llm.bucket_runner import BucketRunner
from mini_llm.paged import PagedKVCache

WRONG = (AssertionError, pytest.fail.Exception)  # an answer that a check finds wrong, or a missing refusal


@dataclass(frozen=True)
class Fault:
    plant: Callable[[pytest.MonkeyPatch], None]
    check: Callable[[torch.device], None]
    raises: tuple = WRONG


FAULTS: dict[str, Fault] = {}
FAULTS_ON_GPU: dict[str, Fault] = {}


def fault(report, check, raises=WRONG, gpu=False):
    def add(plant):
        kinds = raises if isinstance(raises, tuple) else (raises,)
        (FAULTS_ON_GPU if gpu else FAULTS)[report] = Fault(plant, check, kinds)
        return plant

    return add


# --- the runner -----------------------------------------------------------------------------------


@fault("nano-vllm 216: a batch size without a bucket", CHECKS["every_batch_size"], StopIteration)
def _(monkeypatch):
    def size_for(self, batch):
        return next(size for size in self.sizes if size >= len(batch.input_ids))

    monkeypatch.setattr(BucketRunner, "size_for", size_for)


@fault("vllm 7999: an uncaptured batch crashes instead of falling back", CHECKS["nothing_captured_yet"], KeyError)
def _(monkeypatch):
    def size_for(self, batch):
        return bucket_runner.pad_to(len(batch.input_ids), self.sizes)

    monkeypatch.setattr(BucketRunner, "size_for", size_for)


@fault("vllm 54933: a top of 42 is cut to 40", CHECKS["graphs_are_used"])
def _(monkeypatch):
    whole = BucketRunner.__init__

    def init(self, step, buffers, sizes, *args, **kwargs):
        whole(self, step, buffers, [s if s < 8 else s - s % 8 for s in sizes], *args, **kwargs)

    monkeypatch.setattr(BucketRunner, "__init__", init)


@fault("vllm 40734: a top off the stride runs eager", CHECKS["graphs_are_used"])
def _(monkeypatch):
    whole = bucket_runner.pad_to
    monkeypatch.setattr(bucket_runner, "pad_to", lambda n, sizes: whole(n, [s for s in sizes if s < 8 or s % 8 == 0]))


@fault("torchtitan 3685: a full graph for a mixed batch", CHECKS["mixed_batches_stay_off_uniform_graphs"])
def _(monkeypatch):
    def size_for(self, batch):
        return bucket_runner.pad_to(len(batch.input_ids), self.sizes)

    monkeypatch.setattr(BucketRunner, "size_for", size_for)
    monkeypatch.setattr(StepBuffers, "_check", lambda self, *args: None)


@fault("pytorch 170604: an output is overwritten by the next replay", CHECKS["results_can_be_kept"])
def _(monkeypatch):
    whole = BucketRunner.run
    monkeypatch.setattr(BucketRunner, "run", lambda self, batch, clone=True: whole(self, batch, clone=False))


@fault("an output for every size: memory adds up", CHECKS["one_result_buffer_for_all_sizes"])
def _(monkeypatch):
    whole = graphs.capture

    def capture(step, **options):
        kept = []
        graph = whole(lambda: (kept.append(torch.zeros(16, 50_000)), step())[1], **options)
        graph.kept = kept
        return graph

    monkeypatch.setattr(bucket_runner, "capture", capture)


@fault("small before large", CHECKS["capture_goes_from_large_to_small"], RuntimeError)
def _(monkeypatch):
    monkeypatch.setattr(bucket_runner, "reversed", list, raising=False)


@fault("a new tensor at every step", CHECKS["a_step_allocates_nothing"])
def _(monkeypatch):
    whole = StepBuffers.set

    def set(self, batch, *args, **kwargs):
        return whole(self, replace(batch, input_ids=batch.input_ids.clone()), *args, **kwargs)

    monkeypatch.setattr(StepBuffers, "set", set)


@fault("capturing again writes over keys in use", CHECKS["capturing_again_leaves_the_cache_alone"])
def _(monkeypatch):
    monkeypatch.setattr(bucket_runner, "fill_with_padding", lambda inputs: None)


# --- buffers and cache ----------------------------------------------------------------------------


@fault("nano-vllm 190: stale columns in the block table", CHECKS["every_batch_size"])
def _(monkeypatch):
    whole = StepBuffers.set

    def set(self, batch, *args, **kwargs):
        stale = self.view(self.max_reqs, self.max_reqs).block_table.clone()
        inputs = whole(self, batch, *args, **kwargs)
        for row, blocks in enumerate(batch.block_tables):
            inputs.block_table[row, len(blocks) :] = stale[row, len(blocks) :]
        return inputs

    monkeypatch.setattr(StepBuffers, "set", set)


@fault("transformers 30351: decoding longer than the buffers", CHECKS["tables_wider_than_the_buffers"])
def _(monkeypatch):
    whole = StepBuffers.set

    def set(self, batch, *args, **kwargs):
        cut = [table[: self.max_blocks] for table in batch.block_tables]
        return whole(self, replace(batch, block_tables=cut), *args, **kwargs)

    monkeypatch.setattr(StepBuffers, "set", set)


@fault("TensorRT-LLM 10688: capture sizes above the buffers", CHECKS["sizes_above_the_buffers"])
def _(monkeypatch):
    whole = StepBuffers.view

    def view(self, num_tokens, num_reqs=None, uniform=False):
        return whole(self, min(num_tokens, self.max_tokens), min(num_reqs, self.max_reqs), uniform)

    monkeypatch.setattr(StepBuffers, "view", view)


@fault("vllm 33638: persistent buffers are reallocated", CHECKS["decoding_agrees_as_requests_grow_and_leave"])
def _(monkeypatch):
    def set(self, batch, *args, **kwargs):
        moved = StepBuffers(self.max_tokens, self.max_reqs, self.max_blocks)
        return whole(moved, batch, *args, **kwargs)

    whole = StepBuffers.set
    monkeypatch.setattr(StepBuffers, "set", set)
    monkeypatch.setattr(bucket_runner, "addresses", lambda inputs: [])  # or the runner would say so itself


@fault("vllm 13418: a padded batch has more slots than keys", CHECKS["padding_writes_to_no_slot"], ValueError)
def _(monkeypatch):
    whole = StepBuffers.view

    def view(self, *args):
        return replace(whole(self, *args), slot_mapping=whole(self, self.max_tokens, 1).slot_mapping)

    monkeypatch.setattr(StepBuffers, "view", view)


@fault("vllm 43810: slot -1 writes the last slot", CHECKS["padding_writes_to_no_slot"])
def _(monkeypatch):
    def write(self, layer, slot_mapping, k, v):
        self.k[layer].flatten(0, 1)[slot_mapping] = k
        self.v[layer].flatten(0, 1)[slot_mapping] = v

    monkeypatch.setattr(PagedKVCache, "write", write)


@fault("padding of slot 0: not -1", CHECKS["padding_writes_to_no_slot"])
def _(monkeypatch):
    whole = StepBuffers.set

    def set(self, *args, **kwargs):
        inputs = whole(self, *args, **kwargs)
        inputs.slot_mapping[inputs.slot_mapping < 0] = 0
        return inputs

    monkeypatch.setattr(StepBuffers, "set", set)


@fault("vllm 19106: captured short, replayed long", CHECKS["decoding_agrees_as_requests_grow_and_leave"])
def _(monkeypatch):
    whole = StepBuffers.view

    def view(self, num_tokens, num_reqs=None, uniform=False):
        inputs = whole(self, num_tokens, num_reqs)
        return replace(inputs, runs=(Run(0, num_reqs, 0, num_tokens, num_tokens // num_reqs, max_seq_len=4),))

    monkeypatch.setattr(StepBuffers, "view", view)


# --- what only CUDA has ---------------------------------------------------------------------------


@fault("SageAttention 371: a kernel on another stream", CHECKS["decoding_agrees_as_requests_grow_and_leave"], gpu=True)
def _(monkeypatch):
    whole = SDPABackend.__call__

    def on_the_default_stream(self, q, *args):
        with torch.cuda.stream(torch.cuda.default_stream(q.device)):
            return whole(self, q, *args)

    monkeypatch.setattr(SDPABackend, "__call__", on_the_default_stream)


def drop_graphs(monkeypatch):
    """pytorch 193402: a pool that does not keep its graphs; what a destroyed one gives back is still in use."""

    def new_graph(self, generators):
        return torch.cuda.CUDAGraph()

    monkeypatch.setattr(graphs.CudaPool, "new_graph", new_graph)
