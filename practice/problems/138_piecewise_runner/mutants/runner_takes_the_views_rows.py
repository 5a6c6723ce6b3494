# verdict: wrong answer
# diagnosis: the rows came from `logits_indices` of `buffers.view`, which names one for each padded request; those of `buffers.set` are the batch's
_right = PiecewiseRunner


class PiecewiseRunner(_right):
    @torch.no_grad()
    def run(self, batch):
        size = self.size_for(batch)
        if size is None:
            return super().run(batch)
        with forward_context(self.kv, self.backend, self.buffers.set(batch, size)):
            hidden = self.captured[size].replay()[self.step.result]
            return self.step.head(hidden[self.buffers.view(size).logits_indices])
