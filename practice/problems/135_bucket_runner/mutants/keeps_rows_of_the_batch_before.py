# verdict: wrong answer
# diagnosis: the rows behind the batch still hold slots of a batch before: they are computed as well, and write over keys that are in use
from mini_llm.batch import step_inputs


class BucketRunner(BucketRunner):
    def run(self, batch, clone=True):
        size = self.size_for(batch)
        if size is None:
            return self.step(step_inputs(batch, self.buffers.device))
        view, mine = self.buffers.view(size, size, True), step_inputs(batch, self.buffers.device)
        view.block_table.zero_()
        n, width = mine.block_table.shape
        for name in ("input_ids", "positions", "slot_mapping", "seq_lens", "logits_indices"):
            getattr(view, name)[:n] = getattr(mine, name)
        view.block_table[:n, :width] = mine.block_table
        self.buckets[size].graph.replay()
        return self.output[:n].clone()
