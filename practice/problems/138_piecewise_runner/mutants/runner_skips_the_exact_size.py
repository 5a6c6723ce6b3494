# verdict: wrong answer
# diagnosis: a batch that is itself a captured size went to the next size, or to none; it fits exactly
_right = PiecewiseRunner


class PiecewiseRunner(_right):
    def size_for(self, batch):
        size = pad_to(len(batch.input_ids) + 1, self.sizes)
        return size if size in self.captured else None
