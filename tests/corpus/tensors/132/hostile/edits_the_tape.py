# verdict: wrong answer; on CUDA: accepted
# the emulator itself runs the step again
# @accept/plain.py@
from mini_llm import graphs, tape


def _record(self, fn, inputs):
    self.fn, self.inputs = fn, inputs
    self.output = fn(*inputs)
    return self.output


def _replay(self):
    leaves = torch.utils._pytree.tree_leaves
    for old, new in zip(leaves(self.output), leaves(self.fn(*self.inputs))):
        if isinstance(old, torch.Tensor):
            old.copy_(new)


tape.Tape.record, tape.Tape.replay = _record, _replay
graphs.Tape = tape.Tape
