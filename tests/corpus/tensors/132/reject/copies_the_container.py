# verdict: wrong answer
# copy.copy of the nest: new containers, the same tensors
# @accept/plain.py@
import copy


class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        copy_in(self.buffers, inputs)
        return copy.copy(self.graph.replay())
