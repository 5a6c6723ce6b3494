# verdict: wrong answer
# diagnosis: Tape.recording still names a tape after a recording that failed
_right = Tape


class Tape(_right):
    def record(self, fn, inputs):
        try:
            return super().record(fn, inputs)
        except BaseException:
            Tape.recording = self
            raise
