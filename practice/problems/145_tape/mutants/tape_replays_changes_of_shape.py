# verdict: wrong answer
# diagnosis: t_ and the like were written down as writes: they describe memory anew (Tag.inplace_view), and a replay needs none
_right = Tape


class Tape(_right):
    def run(self, func, args, kwargs):
        return self.note(func, args, kwargs, written_tensors(func, args, kwargs))
