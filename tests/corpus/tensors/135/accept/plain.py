# verdict: accepted
# the ordinary solution; other files begin with it
import torch

from mini_llm.batch import step_inputs
from mini_llm.buckets import pad_to
from mini_llm.graphs import capture


def fill_with_padding(inputs):
    for name, tensor in vars(inputs).items():
        if isinstance(tensor, torch.Tensor):
            tensor.fill_(-1 if name == "slot_mapping" else 0)


class BucketRunner:
    def __init__(self, step, buffers, sizes):
        self.step, self.buffers = step, buffers
        self.views = {size: buffers.view(size, size, uniform=True) for size in sorted(set(sizes))}
        self.graphs = {}

    @torch.no_grad()
    def capture(self):
        pool = None
        for size in sorted(self.views, reverse=True):
            view = self.views[size]
            fill_with_padding(view)
            self.graphs[size] = self.graph_of(view, pool)
            pool = getattr(self.graphs[size], "pool", None)

    def graph_of(self, view, pool):
        return capture(lambda: self.step(view), pool=pool, device=self.buffers.device)

    def can_run(self, batch):
        return batch.query_len() == 1 and pad_to(len(batch.input_ids), sorted(self.graphs)) is not None

    @torch.no_grad()
    def run(self, batch):
        now = step_inputs(batch, self.buffers.device)
        if not self.can_run(batch):
            return self.step(now)
        size = pad_to(len(batch.input_ids), sorted(self.graphs))
        view, n = self.views[size], len(batch.input_ids)
        fill_with_padding(view)
        for name in ("input_ids", "positions", "slot_mapping", "seq_lens", "logits_indices"):
            getattr(view, name)[:n] = getattr(now, name)
        view.block_table[:n, : now.block_table.shape[1]] = now.block_table
        return self.graphs[size].replay()[:n].clone()
