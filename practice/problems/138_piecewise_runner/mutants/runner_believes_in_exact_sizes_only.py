# verdict: wrong answer
# diagnosis: `can_run` says False for a batch that lies between two sizes: it is padded to the larger one
_right = PiecewiseRunner


class PiecewiseRunner(_right):
    def can_run(self, batch):
        return len(batch.input_ids) in self.captured
