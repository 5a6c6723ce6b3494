# verdict: wrong answer|error
# diagnosis: attention sees the first batch that ran at this size; it must see the batch of now
_right = PiecewiseRunner


class PiecewiseRunner(_right):
    @torch.no_grad()
    def run(self, batch):
        size = self.size_for(batch)
        if size is None:
            return super().run(batch)
        inputs = self.buffers.set(batch, size)
        if not hasattr(self, "first"):
            self.first = {}
        first = self.first.setdefault(size, inputs)
        with forward_context(self.kv, self.backend, first):
            hidden = self.captured[size].replay()[self.step.result]
        return self.step.head(hidden[inputs.logits_indices])
