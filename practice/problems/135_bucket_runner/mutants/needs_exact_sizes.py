# verdict: wrong answer
# diagnosis: only batches of exactly a captured size were replayed: those between two sizes are padded to the larger one
class BucketRunner(BucketRunner):
    def size_for(self, batch):
        size = super().size_for(batch)
        return size if size == len(batch.input_ids) else None
