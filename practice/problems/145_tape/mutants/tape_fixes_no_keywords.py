# verdict: error|wrong answer
# diagnosis: a tensor among the keyword arguments, such as out, was kept as an object: take `fixed` of these, too
_right = Tape


class Tape(_right):
    def note(self, func, args, kwargs, written):
        count = len(self.calls)
        result = super().note(func, args, kwargs, written)
        for call in self.calls[count:]:
            self.calls[-1] = Call(call.func, call.args, dict(kwargs), call.homes)
        return result
