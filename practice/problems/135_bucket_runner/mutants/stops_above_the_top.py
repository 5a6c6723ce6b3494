# verdict: error|wrong answer
# diagnosis: a batch above the largest size stops the runner: no size was found, and that is no error; such a batch runs eagerly
class BucketRunner(BucketRunner):
    def size_for(self, batch):
        if not self.buckets or batch.query_len() != 1:
            return None
        return next(size for size in self.sizes if size >= len(batch.input_ids))
