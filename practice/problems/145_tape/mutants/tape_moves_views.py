# verdict: wrong answer|error
# diagnosis: tensors that share memory were moved apart: views of one result, or of an argument (`taken` are all of them), stay in one storage
_right = Tape


class Tape(_right):
    def note(self, func, args, kwargs, written):
        self.pool, pool = _Moving(self.pool, {address_of(tensor) for tensor in written}), self.pool
        try:
            return super().note(func, args, kwargs, written)
        finally:
            self.pool = pool


class _Moving:
    def __init__(self, pool, taken):
        self.block_at, self.fixed = pool.block_at, pool.fixed
        self.house = lambda results, _: pool.house(results, taken)
