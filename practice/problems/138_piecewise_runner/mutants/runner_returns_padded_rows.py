# verdict: wrong answer
# diagnosis: logits of rows of padding were returned too; only the rows in the batch's own logits_indices are wanted
_right = PiecewiseRunner


class PiecewiseRunner(_right):
    @torch.no_grad()
    def run(self, batch):
        size = self.size_for(batch)
        if size is None:
            return super().run(batch)
        with forward_context(self.kv, self.backend, self.buffers.set(batch, size)):
            return self.step.head(self.captured[size].replay()[self.step.result])
