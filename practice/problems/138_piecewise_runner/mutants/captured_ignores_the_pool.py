# verdict: wrong answer
# diagnosis: the pool that was given is not used: every size would keep memory of its own
_right = CapturedPieces


class CapturedPieces(_right):
    def __init__(self, pieces, values, pool=None, warmup=1, attended=None):
        super().__init__(pieces, values, None, warmup, attended)
