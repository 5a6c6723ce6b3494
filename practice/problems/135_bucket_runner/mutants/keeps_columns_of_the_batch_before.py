# verdict: wrong answer
# diagnosis: behind the blocks of a request stand blocks of a longer table that was there before: only as many columns were written as this batch has
from mini_llm.batch import step_inputs


class BucketRunner(BucketRunner):
    def run(self, batch, clone=True):
        size = self.size_for(batch)
        if size is None:
            return self.step(step_inputs(batch, self.buffers.device))
        view, mine = self.buffers.view(size, size, True), step_inputs(batch, self.buffers.device)
        n, width = mine.block_table.shape
        view.slot_mapping.fill_(-1)
        view.seq_lens.zero_()
        for name in ("input_ids", "positions", "slot_mapping", "seq_lens", "logits_indices"):
            getattr(view, name)[:n] = getattr(mine, name)
        view.block_table[:n, :width] = mine.block_table
        self.buckets[size].graph.replay()
        return self.output[:n].clone()
