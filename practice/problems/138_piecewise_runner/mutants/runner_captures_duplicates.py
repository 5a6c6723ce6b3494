# verdict: wrong answer
# diagnosis: a size that is in `sizes` twice was captured twice: that costs time at start-up, and memory
_right = PiecewiseRunner


class PiecewiseRunner(_right):
    def __init__(self, step, kv, backend, buffers, sizes, pool=None):
        super().__init__(step, kv, backend, buffers, sizes, pool)
        self.sizes = sorted(sizes)
