# verdict: error|wrong answer
# diagnosis: the batch is written into the buffers without padding, so rows of an older batch stay behind it
_right = PiecewiseRunner


class PiecewiseRunner(_right):
    @torch.no_grad()
    def run(self, batch):
        size = self.size_for(batch)
        if size is None:
            return super().run(batch)
        inputs = self.buffers.set(batch)
        with forward_context(self.kv, self.backend, inputs):
            return self.step.head(self.captured[size].replay()[self.step.result][inputs.logits_indices])
