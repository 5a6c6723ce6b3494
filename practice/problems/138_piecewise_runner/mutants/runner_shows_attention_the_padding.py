# verdict: error|wrong answer
# diagnosis: attention sees the inputs of the capture, which hold no batch; the context of a replay is the batch of now (what buffers.set returns)
_right = PiecewiseRunner


class PiecewiseRunner(_right):
    @torch.no_grad()
    def run(self, batch):
        size = self.size_for(batch)
        if size is None:
            return super().run(batch)
        inputs = self.buffers.set(batch, size)
        with forward_context(self.kv, self.backend, self.buffers.view(size)):
            hidden = self.captured[size].replay()[self.step.result]
        return self.step.head(hidden[inputs.logits_indices])
