# verdict: error
# diagnosis: `OperatorRules` was not told the generators, so it refuses to draw from them: super().__init__(generators)
_right = Tape


class Tape(_right):
    def __init__(self, pool, generators=()):
        super().__init__(pool)
