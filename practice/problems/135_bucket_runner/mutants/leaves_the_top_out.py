# verdict: wrong answer
# diagnosis: a batch as large as the largest size ran eagerly: it fits its graph exactly
class BucketRunner(BucketRunner):
    def size_for(self, batch):
        size = super().size_for(batch)
        return size if size is not None and len(batch.input_ids) < self.sizes[-1] else None
