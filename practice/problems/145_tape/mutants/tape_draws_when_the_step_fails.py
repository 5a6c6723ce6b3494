# verdict: wrong answer
# diagnosis: the generators were put back only when the step ended well; they have to be put back after an error, too
_right = Tape


class Tape(_right):
    def record(self, fn, inputs):
        def step(*inputs):
            try:
                return fn(*inputs)
            except BaseException:
                self.failed = torch.default_generator.get_state()
                raise

        self.failed = None
        try:
            return super().record(step, inputs)
        finally:
            if self.failed is not None:
                torch.default_generator.set_state(self.failed)
