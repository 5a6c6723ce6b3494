# verdict: wrong answer
# diagnosis: the sizes were used in the order in which they came: the first one that is large enough need not be the smallest one
class BucketRunner(BucketRunner):
    def __init__(self, step, buffers, sizes):
        super().__init__(step, buffers, sizes)
        self.given = list(sizes)

    def size_for(self, batch):
        if not self.buckets or batch.query_len() != 1:
            return None
        return next((size for size in self.given if size >= len(batch.input_ids)), None)
