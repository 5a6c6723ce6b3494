# verdict: wrong answer
# diagnosis: results lie in memory that the next run overwrites; they belong to the caller
_right = PiecewiseRunner


class PiecewiseRunner(_right):
    def run(self, batch):
        rows = super().run(batch)
        if not hasattr(self, "out"):
            self.out = rows.new_empty(64, rows.shape[1])
        self.out[: len(rows)].copy_(rows)
        return self.out[: len(rows)]
