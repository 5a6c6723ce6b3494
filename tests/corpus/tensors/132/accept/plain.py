# verdict: accepted
# the ordinary solution; other files begin with it
import torch
from torch.utils._pytree import tree_map_only

from mini_llm.graphs import new_pool, record


def copy_in(buffers, values):
    if len(buffers) != len(values):
        raise ValueError(f"{len(buffers)} inputs were captured, {len(values)} came")
    for i, (b, v) in enumerate(zip(buffers, values)):
        if (b.shape, b.dtype) != (v.shape, v.dtype):
            raise ValueError(f"input {i} was captured as {b.dtype} {list(b.shape)} and came as {v.dtype} {list(v.shape)}")
    for b, v in zip(buffers, values):
        b.copy_(v)


def warm_up(fn, inputs, times, pool):
    with pool.on_stream():
        for _ in range(times):
            fn(*inputs)


class CapturedStep:
    def __init__(self, step, *examples, warmup=2, pool=None):
        self.buffers = [e.clone() for e in examples]
        self.pool = new_pool(self.buffers[0].device) if pool is None else pool
        warm_up(step, self.buffers, warmup, self.pool)
        self.graph = record(step, *self.buffers, pool=self.pool)

    def __call__(self, *inputs):
        copy_in(self.buffers, inputs)
        return tree_map_only(torch.Tensor, torch.clone, self.graph.replay())
