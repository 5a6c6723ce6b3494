# verdict: wrong answer
# diagnosis: memory of others was put back only when the step ended well; it has to be put back after an error, too
_right = Tape


class Tape(_right):
    def record(self, fn, inputs):
        self._inference = torch.is_inference_mode_enabled()
        states = [(g, g.get_state()) for g in (torch.default_generator, *self.generators)]
        Tape.recording = self
        with under(self):
            result = fn(*inputs)
        Tape.recording = None
        for memory, before in self._before.values():
            memory.copy_(before)
        for generator, state in states:
            generator.set_state(state)
        for memory in self._own.values():
            memory.fill_(0xFF)
        self._before, self._own = {}, {}
        return result
