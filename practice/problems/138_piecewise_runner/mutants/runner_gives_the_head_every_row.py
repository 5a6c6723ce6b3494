# verdict: wrong answer
# diagnosis: `step.head` computed logits for every row, and the wanted ones were picked afterwards; pick the rows first
_right = PiecewiseRunner


class PiecewiseRunner(_right):
    @torch.no_grad()
    def run(self, batch):
        size = self.size_for(batch)
        if size is None:
            return super().run(batch)
        inputs = self.buffers.set(batch, size)
        with forward_context(self.kv, self.backend, inputs):
            hidden = self.captured[size].replay()[self.step.result]
            return self.step.head(hidden)[inputs.logits_indices]
