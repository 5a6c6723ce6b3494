# verdict: wrong answer
# diagnosis: a larger graph ran than was needed: each batch runs in the smallest captured size that fits
class BucketRunner(BucketRunner):
    def size_for(self, batch):
        return None if super().size_for(batch) is None else self.sizes[-1]
