# verdict: wrong answer
# diagnosis: calls that write into their arguments were not written down: only those with a new result were
_right = Tape


class Tape(_right):
    def note(self, func, args, kwargs, written):
        result = super().note(func, args, kwargs, written)
        if self.calls and not tensors_in(self.calls[-1].homes):
            self.calls.pop()
        return result
