# verdict: wrong answer
# results are kept by the tokens of the batch: positions, slots and the cache may be others
# @accept/plain.py@
class BucketRunner(BucketRunner):
    def run(self, batch):
        self.cache = getattr(self, "cache", {})
        key = tuple(batch.input_ids.tolist())
        if key not in self.cache:
            self.cache[key] = super().run(batch)
        return self.cache[key]
