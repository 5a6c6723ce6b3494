# verdict: wrong answer
# diagnosis: sizes are captured from the smallest to the largest; then no later size fits into the memory of the one before
_right = PiecewiseRunner


class PiecewiseRunner(_right):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)

    def capture(self, warmup=1, progress=False):
        captured = {}
        with torch.no_grad():
            for size in self.sizes:
                inputs = self.buffers.view(size)
                fill_with_padding(inputs)
                captured[size] = CapturedPieces(self.step.pieces, self.step.start(inputs), self.pool, warmup)
                self.pool, self._addresses[size] = captured[size].pool, addresses(inputs)
        self.captured = captured
