# verdict: wrong answer
# diagnosis: each size was captured in a pool of its own, or runner.pool is not the one in use: hand each pool on to the next size
_right = PiecewiseRunner


class PiecewiseRunner(_right):
    def capture(self, warmup=1, progress=False):
        given = self.pool
        super().capture(warmup)
        self.pool = given
