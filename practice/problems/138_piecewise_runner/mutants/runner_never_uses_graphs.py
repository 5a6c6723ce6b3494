# verdict: wrong answer
# diagnosis: the step runs eagerly although graphs were captured
_right = PiecewiseRunner


class PiecewiseRunner(_right):
    @torch.no_grad()
    def run(self, batch):
        inputs = self.buffers.set(batch)
        with forward_context(self.kv, self.backend, inputs):
            return self.step(inputs)
