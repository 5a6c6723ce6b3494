# verdict: wrong answer
# diagnosis: a row for each token was returned; wanted are the rows in logits_indices
_right = PiecewiseRunner


class PiecewiseRunner(_right):
    @torch.no_grad()
    def run(self, batch):
        size = self.size_for(batch)
        if size is None:
            return super().run(batch)
        with forward_context(self.kv, self.backend, self.buffers.set(batch, size)):
            return self.step.head(self.captured[size].replay()[self.step.result][: len(batch.input_ids)])
