# verdict: wrong answer
# diagnosis: results of whole numbers held numbers still: fill the bytes of each block with 0xFF, which makes -1 of them
_right = Tape


class Tape(_right):
    def record(self, fn, inputs):
        self._own = _Forgetful()
        try:
            return super().record(fn, inputs)
        finally:
            for home in tensors_in([call.homes for call in self.calls]):
                if home.is_floating_point():
                    home.fill_(float("nan"))


class _Forgetful(dict):
    def values(self):
        return ()

    def __ior__(self, other):
        self.update(other)
        return self
