# verdict: wrong answer; on CUDA: accepted
# the emulator's replay runs the step again
# @accept/plain.py@
from mini_llm import graphs, tape


def _record(self, fn, inputs):
    self.fn, self.inputs = fn, inputs
    self.output = fn(*inputs)
    return self.output


def _replay(self):
    self.output.copy_(self.fn(*self.inputs))


tape.Tape.record, tape.Tape.replay = _record, _replay
graphs.Tape = tape.Tape
