# verdict: error|wrong answer
# diagnosis: before `capture` there are no graphs, whatever the sizes say; the batch runs eagerly then
_right = PiecewiseRunner


class PiecewiseRunner(_right):
    def size_for(self, batch):
        return pad_to(len(batch.input_ids), self.sizes)
