# verdict: error|wrong answer
# diagnosis: tensors inside a list among the arguments, as in cat, were kept as objects: take `fixed` of these, too
_right = Tape


class Tape(_right):
    def note(self, func, args, kwargs, written):
        count = len(self.calls)
        result = super().note(func, args, kwargs, written)
        for call in self.calls[count:]:
            kept = [old if isinstance(old, list) else new for old, new in zip(args, call.args, strict=True)]
            self.calls[-1] = Call(call.func, tuple(kept), call.kwargs, call.homes)
        return result
