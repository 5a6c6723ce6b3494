# verdict: wrong answer
# diagnosis: only the default generator was put back; those in `generators` stayed where the recording left them
_right = Tape


class Tape(_right):
    def record(self, fn, inputs):
        def step(*inputs):
            try:
                return fn(*inputs)
            finally:
                self.after = [(g, g.get_state()) for g in self.generators]

        try:
            return super().record(step, inputs)
        finally:
            for generator, state in self.after:
                generator.set_state(state)
