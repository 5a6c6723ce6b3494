# verdict: wrong answer
# diagnosis: only decode batches run in graphs; pieces do not care which requests their rows belong to, so prompts and mixed batches run in them too
_right = PiecewiseRunner


class PiecewiseRunner(_right):
    def size_for(self, batch):
        return super().size_for(batch) if batch.query_len() == 1 else None
