# verdict: error
# diagnosis: two tensors are not copied as the others are: the block table of the batch has fewer columns than that of the view, and query_start_loc has one number more than there are rows
from mini_llm.batch import step_inputs


class BucketRunner(BucketRunner):
    def run(self, batch, clone=True):
        size = self.size_for(batch)
        if size is None:
            return self.step(step_inputs(batch, self.buffers.device))
        view, mine = self.buffers.view(size, size, True), step_inputs(batch, self.buffers.device)
        fill_with_padding(view)
        n, width = mine.block_table.shape
        for name in ("input_ids", "positions", "slot_mapping", "seq_lens", "logits_indices", "query_start_loc"):
            getattr(view, name)[:n] = getattr(mine, name)
        view.block_table[:n, :width] = mine.block_table
        self.buckets[size].graph.replay()
        return self.output[:n].clone()
