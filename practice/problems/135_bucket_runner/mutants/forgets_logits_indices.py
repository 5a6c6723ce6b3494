# verdict: wrong answer
# diagnosis: the logits_indices of the batch were not copied in: those of padding are 0, so every row was made of the last token of the first request
from mini_llm.batch import step_inputs


class BucketRunner(BucketRunner):
    def run(self, batch, clone=True):
        size = self.size_for(batch)
        if size is None:
            return self.step(step_inputs(batch, self.buffers.device))
        view, mine = self.buffers.view(size, size, True), step_inputs(batch, self.buffers.device)
        fill_with_padding(view)
        n, width = mine.block_table.shape
        for name in ("input_ids", "positions", "slot_mapping", "seq_lens"):
            getattr(view, name)[:n] = getattr(mine, name)
        view.block_table[:n, :width] = mine.block_table
        self.buckets[size].graph.replay()
        return self.output[:n].clone()
