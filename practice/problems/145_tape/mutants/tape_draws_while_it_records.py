# verdict: wrong answer
# diagnosis: the recording drew random numbers: the generator has to be as it was before
_right = Tape


class Tape(_right):
    def record(self, fn, inputs):
        states = []

        def step(*inputs):
            result = fn(*inputs)
            states.append(torch.default_generator.get_state())
            return result

        result = super().record(step, inputs)
        torch.default_generator.set_state(states[0])
        return result
