# verdict: error|wrong answer
# diagnosis: a batch above the largest size stops the runner: no size was found, and that is no error; such a batch runs eagerly
class BucketRunner(BucketRunner):
    def run(self, batch, clone=True):
        if not self.buckets or batch.query_len() != 1:
            return self.step(self.buffers.set(batch))
        bucket = self.buckets[pad_to(len(batch.input_ids), self.sizes)]
        self.buffers.set(batch, bucket.rows, bucket.rows, True)
        bucket.graph.replay()
        return self.output[: len(batch.seq_lens)].clone()
