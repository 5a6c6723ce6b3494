# verdict: wrong answer
# diagnosis: each graph was captured in a pool of its own: pass the pool of the graph before to the next capture
class BucketRunner(BucketRunner):
    def _capture_size(self, size, warmup):
        self.pool = None
        return super()._capture_size(size, warmup)
