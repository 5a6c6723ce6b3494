"""Problem 135 as nano-vllm does it: padding first, then the batch over the front; each graph keeps its own rows."""

import torch

from mini_llm.batch import step_inputs
from mini_llm.buckets import pad_to
from mini_llm.graphs import capture

COPIED = ("input_ids", "positions", "slot_mapping", "seq_lens", "logits_indices")


def fill_with_padding(inputs):
    for name in (*COPIED, "block_table", "query_start_loc"):
        getattr(inputs, name).zero_()
    inputs.slot_mapping.fill_(-1)


class BucketRunner:
    def __init__(self, step, buffers, sizes):
        self.step, self.buffers, self.sizes = step, buffers, sorted(set(sizes))
        for size in sizes:
            buffers.view(size, size, uniform=True)
        self.graphs = {}

    @torch.no_grad()
    def capture(self):
        pool = None
        for size in self.sizes[::-1]:
            view = self.buffers.view(size, size, uniform=True)
            fill_with_padding(view)
            graph = capture(lambda view=view: self.step(view), pool=pool, device=self.buffers.device)
            pool = graph.pool
            self.graphs[size] = graph

    def size_for(self, batch):
        if batch.query_len() != 1:
            return None
        return pad_to(len(batch.input_ids), sorted(self.graphs))

    def can_run(self, batch):
        return self.size_for(batch) is not None

    @torch.no_grad()
    def run(self, batch):
        mine = step_inputs(batch, self.buffers.device)
        size = self.size_for(batch)
        if size is None:
            return self.step(mine)
        view = self.buffers.view(size, size, uniform=True)
        fill_with_padding(view)
        n, width = mine.block_table.shape
        for name in COPIED:
            getattr(view, name)[:n] = getattr(mine, name)
        view.block_table[:n, :width] = mine.block_table
        return self.graphs[size].replay()[:n].clone()
