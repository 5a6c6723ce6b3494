# verdict: wrong answer
# diagnosis: the batch was not in the memory that the graph reads: it was put into other tensors, or padding was written over it before the replay
from mini_llm.batch import step_inputs


class BucketRunner(BucketRunner):
    def run(self, batch, clone=True):
        size = self.size_for(batch)
        if size is None:
            return self.step(step_inputs(batch, self.buffers.device))
        self.inputs = step_inputs(batch, self.buffers.device)
        self.buckets[size].graph.replay()
        return self.output[: len(batch.seq_lens)].clone()
