# verdict: wrong answer
# diagnosis: `warmup` is ignored: pieces were run more often, or less often, before the capture
_right = CapturedPieces


class CapturedPieces(_right):
    def __init__(self, pieces, values, pool=None, warmup=1, attended=None):
        super().__init__(pieces, values, pool, 2, attended)
