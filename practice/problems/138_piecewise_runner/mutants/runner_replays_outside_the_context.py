# verdict: error|wrong answer
# diagnosis: the replay is outside of a forward_context; attention runs in it, too, and needs the cache, the backend and the batch of now
_right = PiecewiseRunner


class PiecewiseRunner(_right):
    @torch.no_grad()
    def run(self, batch):
        size = self.size_for(batch)
        if size is None:
            return super().run(batch)
        inputs = self.buffers.set(batch, size)
        hidden = self.captured[size].replay()[self.step.result]
        return self.step.head(hidden[inputs.logits_indices])
