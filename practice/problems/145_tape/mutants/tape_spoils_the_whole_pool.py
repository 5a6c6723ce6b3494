# verdict: wrong answer
# diagnosis: the whole pool was filled with 0xFF, and with it the results of another tape: fill the blocks of this step only
_right = Tape


class Tape(_right):
    def record(self, fn, inputs):
        try:
            return super().record(fn, inputs)
        finally:
            for memory in self.pool._blocks.values():
                memory.fill_(0xFF)
