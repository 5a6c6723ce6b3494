# verdict: wrong answer
# diagnosis: while it was captured, a piece wrote into the cache at the slots of the last batch; the buffers must hold padding then
_right = PiecewiseRunner


class PiecewiseRunner(_right):
    @torch.no_grad()
    def capture(self, warmup=1, progress=False):
        for size in reversed(self.sizes):
            inputs = self.buffers.view(size)
            pieces, values = self.step.pieces, self.step.start(inputs)
            self.captured[size] = CapturedPieces(pieces, values, self.pool, warmup, self.attended)
            self.pool, self._addresses[size] = self.captured[size].pool, addresses(inputs)
