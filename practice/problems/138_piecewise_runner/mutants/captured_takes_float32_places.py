# verdict: wrong answer
# diagnosis: the place for what attention returns has another dtype than the first input of attention: `torch.empty(shape)` makes float32
class _Float32(dict):
    def __setitem__(self, name, place):
        super().__setitem__(name, place.float())


_right = CapturedPieces


class CapturedPieces(_right):
    def __init__(self, pieces, values, pool=None, warmup=1, attended=None):
        super().__init__(pieces, values, pool, warmup, _Float32())
