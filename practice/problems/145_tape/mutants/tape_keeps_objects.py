# verdict: error
# diagnosis: the tape kept the tensor objects: what is done to an object later, such as t_() or .data = ..., changed the recording
_right = Tape


class Tape(_right):
    def __init__(self, pool, generators=()):
        super().__init__(pool, generators)
        self.pool = _Loose(pool)


class _Loose:
    def __init__(self, pool):
        self.house, self.block_at, self.fixed = pool.house, pool.block_at, lambda tensor: tensor
