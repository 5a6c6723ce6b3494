# verdict: wrong answer
# diagnosis: each size was captured in a pool of its own, or runner.pool is not the one in use: hand each pool on to the next size
_right = PiecewiseRunner


class PiecewiseRunner(_right):
    def capture(self, warmup=1, progress=False):
        sizes, captured = self.sizes, {}
        for size in reversed(sizes):
            self.sizes, self.pool = [size], None
            super().capture(warmup)
            captured |= self.captured
        self.sizes, self.captured = sizes, captured
