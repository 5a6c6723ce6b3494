# verdict: error
# diagnosis: what opaque wraps was taken apart, as if no tape were recording: Tape.recording has to be the tape while it records
_right = Tape


class Tape(_right):
    def record(self, fn, inputs):
        def step(*inputs):
            _right.recording = Tape.recording = None
            return fn(*inputs)

        return super().record(step, inputs)
