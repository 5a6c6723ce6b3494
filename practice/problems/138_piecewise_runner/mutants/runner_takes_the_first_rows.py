# verdict: wrong answer
# diagnosis: the first rows came back, as many as are wanted; which rows are wanted says `logits_indices`
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
            return self.step.head(hidden[: len(inputs.logits_indices)])
