# verdict: wrong answer
# diagnosis: the tape kept the step's own tensors alive, so no memory was ever free for the next one
_right = Tape


class Tape(_right):
    def note(self, func, args, kwargs, written):
        self.kept = [*getattr(self, "kept", []), tensors_in((args, kwargs))]
        return super().note(func, args, kwargs, written)
