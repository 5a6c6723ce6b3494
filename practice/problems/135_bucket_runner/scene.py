"""What problem 135's tests hand to the learner's code: buffers, batches, a paged cache, and steps that read them."""

from __future__ import annotations

import torch
from pools import new_pools, pools_so_far  # noqa: F401  two of the scene's functions

from mini_llm.attention import SDPABackend, attend, forward_context
from mini_llm.batch import StepBuffers, build_batch
from mini_llm.graphs import capture
from mini_llm.paged import PagedKVCache

BLOCK = 4  # slots of a block
WIDTH = 5  # blocks of a request at most
FIELDS = ("input_ids", "positions", "slot_mapping", "seq_lens", "block_table", "logits_indices")


class Reading:
    """Gives back all that it read of each request, times a Python number, and last the rows that it was run with."""

    def __init__(self, factor):
        self.factor = factor

    def __call__(self, inputs):
        rows, table = inputs.logits_indices, inputs.block_table
        places = torch.arange(1, table.shape[1] + 1, device=table.device)
        read = [inputs.input_ids[rows], inputs.positions[rows], inputs.slot_mapping[rows], inputs.seq_lens]
        read.append((table * places).sum(1))
        read.append(torch.full_like(rows, len(inputs.input_ids)))
        return torch.stack(read, dim=1) * self.factor


class Remembering:
    """Gives back each token, and the size of the last run that had another size than this one: a Python number."""

    def __init__(self):
        self.size = self.before = 0

    def __call__(self, inputs):
        size = len(inputs.input_ids)
        if size != self.size:
            self.before, self.size = self.size, size
        tokens = inputs.input_ids[inputs.logits_indices]
        return torch.stack([tokens, torch.full_like(tokens, self.before)], dim=1)


class Attending:
    """One attention layer: query, key and value of a token are rows of two tables; times a Python number."""

    def __init__(self, tokens, places, kv, factor):
        self.tokens, self.places, self.kv, self.factor = tokens, places, kv, factor
        self.backend = SDPABackend()

    def __call__(self, inputs):
        heads, size = self.kv.k[0].shape[2:]
        rows = self.tokens[inputs.input_ids] + self.places[inputs.positions]
        q, k, v = rows.view(len(rows), 3, heads, size).unbind(1)
        with forward_context(self.kv, self.backend, inputs):
            out = attend(q.contiguous(), k, v, 0)
        return out.flatten(1)[inputs.logits_indices] * self.factor


def reading_step(solution, factor):
    return Reading(factor)


def remembering_step(solution):
    return Remembering()


def attending_step(solution, tokens, places, kv, factor):
    return Attending(tokens, places, kv, factor)


def change_factor(solution, step, factor):
    """Another Python number: an eager step uses it from now on, a graph does not."""
    step.factor = factor


def step_buffers(solution, requests):
    return StepBuffers(64, requests, WIDTH, "cuda" if torch.cuda.is_available() else "cpu")


def use(solution, buffers, batch):
    """A step of somebody else, who shares these buffers, was here."""
    buffers.set(batch)


def view(solution, buffers, size):
    return buffers.view(size, size, True)


def batch_of(solution, items):
    return build_batch(items, BLOCK)


def cache(solution, k, v):
    kv = PagedKVCache(1, len(k), BLOCK, *k.shape[2:], device=k.device)
    kv.k[0].copy_(k)
    kv.v[0].copy_(v)
    return kv


def blocks_of(solution, kv):
    """Keys and values of every block but the null block."""
    return torch.stack([kv.k[0][1:], kv.v[0][1:]])


def read(solution, thing):
    return thing


def fields(solution, inputs):
    return {name: getattr(inputs, name).tolist() for name in FIELDS}


def run_once(solution, step, inputs):
    step(inputs)


def graph_of(solution, inputs):
    """A graph that reads slots and lengths."""
    return capture(lambda: torch.stack([inputs.slot_mapping, inputs.seq_lens]), device=inputs.input_ids.device)
