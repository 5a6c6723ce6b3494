# verdict: wrong answer
# diagnosis: the pieces between were run again, or captured again: a Python value that changed after the capture shows in them, and it cannot show in a replay
class CapturedPieces:
    def __init__(self, pieces, values, pool=None, warmup=1, attended=None):
        self.pieces, self.values, self.pool = pieces, values, pool

    def replay(self):
        values = dict(self.values)
        for piece in self.pieces:
            values.update(zip(piece.outputs, piece.run(*(values[name] for name in piece.inputs))))
        return values
