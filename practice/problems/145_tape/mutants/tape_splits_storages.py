# verdict: wrong answer
# diagnosis: tensors that share memory were moved apart: views of one result, or of an argument (`taken` are all of them), stay in one storage
_right = Tape


class Tape(_right):
    def __init__(self, pool, generators=()):
        super().__init__(pool, generators)
        self.pool = _Apart(pool)


class _Apart:
    def __init__(self, pool):
        self.pool, self.fixed, self.block_at = pool, pool.fixed, pool.block_at

    def house(self, results, taken):
        return [self.pool.house([r], set())[0] for r in results]
