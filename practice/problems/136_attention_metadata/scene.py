"""What problem 136's tests hand to the learner's code: arrays, batches, and fixed tensors that a graph reads."""

from __future__ import annotations

import numpy as np
import torch

from mini_llm.attention import PerTokenSDPABackend, attend, forward_context
from mini_llm.batch import StepInputs, build_batch
from mini_llm.graphs import capture
from mini_llm.paged import PagedKVCache

BLOCK = 4  # slots of a block
METADATA = ("slot_mapping", "seq_lens", "query_start_loc", "block_table")


def here():
    return "cuda" if torch.cuda.is_available() else "cpu"


class Fixed:
    """The tensors that a graph reads, and arrays on the memory from which they are filled: on a CPU their own.

    At first every number is 3: a token, a place, a slot, a block that are all in use.
    """

    def __init__(self, tokens, requests, width):
        rows = dict.fromkeys(("input_ids", "positions", "slot_mapping"), (tokens,))
        rows |= {"seq_lens": (requests,), "query_start_loc": (requests + 1,), "logits_indices": (requests,)}
        rows["block_table"] = (requests, width)
        self.tensors = {name: torch.full(shape, 3, device=here()) for name, shape in rows.items()}
        self.host = {name: tensor.cpu() for name, tensor in self.tensors.items()}
        self.arrays = {name: tensor.numpy() for name, tensor in self.host.items()}
        self.given = {name: self.arrays[name] for name in METADATA}  # this dict is the learner's

    def send(self):
        for name, tensor in self.tensors.items():
            tensor.copy_(self.host[name])

    def view(self, tokens, requests):
        sizes = {"input_ids": tokens, "positions": tokens, "slot_mapping": tokens, "query_start_loc": requests + 1}
        return StepInputs(**{name: each[: sizes.get(name, requests)] for name, each in self.tensors.items()})


class Attending:
    """One attention layer in a graph of a fixed size: query, key and value of a token are rows of two tables."""

    def __init__(self, fixed, tokens, requests, embedding, places, kv):
        self.fixed, inputs = fixed, fixed.view(tokens, requests)
        heads, size = kv.k[0].shape[2:]

        def step():
            rows = embedding[inputs.input_ids] + places[inputs.positions]
            q, k, v = rows.view(tokens, 3, heads, size).unbind(1)
            with forward_context(kv, PerTokenSDPABackend(), inputs):
                return attend(q.contiguous(), k, v, 0).flatten(1)

        fixed.tensors["slot_mapping"].fill_(-1)  # the warm-up writes nothing
        self.graph = capture(step, device=embedding.device)

    def replay(self, batch):
        """The rows of the batch's tokens. What is no metadata is written here."""
        n = len(batch.input_ids)
        for name in ("input_ids", "positions"):
            self.fixed.arrays[name][:] = 0
            self.fixed.arrays[name][:n] = getattr(batch, name)
        self.fixed.send()
        return self.graph.replay()[:n].clone()


def array(solution, numbers):
    return np.array(numbers)


def numbers(solution, array, size):
    return array[:size].tolist()


def given(solution, numbers):
    """A list that stays in the worker, so that one can see what became of it."""
    return numbers


def read(solution, numbers):
    return numbers


def lists_of(solution, batch):
    return [batch.seq_lens, batch.query_start_loc, batch.block_tables]


def fixed_tensors(solution, tokens, requests, width):
    return Fixed(tokens, requests, width)


def arrays_of(solution, fixed):
    return fixed.given


def metadata(solution, fixed, tokens, requests):
    """What a graph of this size reads now."""
    fixed.send()
    view = fixed.view(tokens, requests)
    return {name: getattr(view, name).tolist() for name in METADATA}


def everything(solution, fixed):
    return {name: fixed.arrays[name].tolist() for name in METADATA}


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


def attending_graph(solution, fixed, tokens, requests, embedding, places, kv):
    return Attending(fixed, tokens, requests, embedding, places, kv)
