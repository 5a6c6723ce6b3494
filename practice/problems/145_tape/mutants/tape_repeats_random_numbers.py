# verdict: wrong answer
# diagnosis: each replay drew the same random numbers: a replay goes on where the generator is
_right = Tape


class Tape(_right):
    def record(self, fn, inputs):
        self.state = torch.default_generator.get_state()
        return super().record(fn, inputs)

    def replay(self):
        torch.default_generator.set_state(self.state)
        super().replay()
