# verdict: wrong answer
# diagnosis: `replay` hands out values that were let go; their memory may hold something else by then
_right = CapturedPieces


class CapturedPieces(_right):
    def __init__(self, pieces, values, *rest, **options):
        super().__init__(pieces, values, *rest, **options)
        self.gone = {name: next(iter(values.values())) for piece in pieces for name in piece.last_uses}

    def replay(self):
        return self.gone | super().replay()
