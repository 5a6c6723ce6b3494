# verdict: wrong answer
# diagnosis: the step itself ran again in the replay, with the Python values of now
_right = Tape


class Tape(_right):
    def record(self, fn, inputs):
        self.fn, self.inputs, self.output = fn, inputs, super().record(fn, inputs)
        return self.output

    def replay(self):
        for old, new in zip(tree_leaves(self.output), tree_leaves(self.fn(*self.inputs)), strict=True):
            if isinstance(old, torch.Tensor) and address_of(old) != address_of(new):
                old.copy_(new)
