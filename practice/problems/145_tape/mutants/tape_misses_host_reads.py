# verdict: wrong answer
# diagnosis: operators were seen, host reads were not: record within `with under(self)`, which watches for both
_right = Tape


class Tape(_right):
    def record(self, fn, inputs):
        def step(*inputs):
            with torch._C.DisableTorchFunction():
                return fn(*inputs)

        return super().record(step, inputs)
