# verdict: wrong answer
# diagnosis: the copy of a cache that was put back was taken after a write to it, not before the first
_right = Tape


class Tape(_right):
    def _remember(self, tensor):
        pass

    def note(self, func, args, kwargs, written):
        result = super().note(func, args, kwargs, written)
        for tensor in written:
            super()._remember(tensor)
        return result
