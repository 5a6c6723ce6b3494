# verdict: wrong answer
# diagnosis: memory in the pool that another tape's step made was not put back: only what this step made is its own
_right = Tape


class Tape(_right):
    def _remember(self, tensor):
        if self.pool.block_at(address_of(tensor)) is None:
            super()._remember(tensor)
