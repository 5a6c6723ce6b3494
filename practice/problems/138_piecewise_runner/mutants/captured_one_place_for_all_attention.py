# verdict: wrong answer
# diagnosis: all attention pieces leave their results in one place; a later one overwrites what is still to be read
_right = CapturedPieces


class _OnePlace(dict):
    def __contains__(self, name):
        return len(self) > 0

    def __getitem__(self, name):
        return next(iter(self.values()))


class CapturedPieces(_right):
    def __init__(self, pieces, values, pool=None, warmup=1, attended=None):
        super().__init__(pieces, values, pool, warmup, _OnePlace())
