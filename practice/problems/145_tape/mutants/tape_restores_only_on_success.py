# verdict: wrong answer
# diagnosis: memory of others was put back only when the step ended well; it has to be put back after an error, too
_right = Tape


class Tape(_right):
    def record(self, fn, inputs):
        try:
            return super().record(self._kept(fn), inputs)
        finally:
            for storage, value in getattr(self, "failed", ()):
                storage.copy_(value)

    def _kept(self, fn):
        def step(*inputs):
            try:
                return fn(*inputs)
            except BaseException:
                self.failed = [(storage, storage.clone()) for storage, _ in self._before.values()]
                raise

        return step
