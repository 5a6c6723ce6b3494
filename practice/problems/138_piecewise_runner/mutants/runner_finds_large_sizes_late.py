# verdict: wrong answer
# diagnosis: a size above the buffers was accepted when the runner was made; it should be refused there
_right = PiecewiseRunner


class PiecewiseRunner(_right):
    def __init__(self, step, kv, backend, buffers, sizes, pool=None):
        super().__init__(step, kv, backend, buffers, [], pool)
        self.sizes = sorted(set(sizes))
