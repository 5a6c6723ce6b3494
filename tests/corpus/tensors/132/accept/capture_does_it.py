# verdict: accepted
# warm-up and recording by the package's capture, which calls the warm_up of this file
# @accept/plain.py@
from mini_llm.graphs import capture


class CapturedStep(CapturedStep):
    def __init__(self, step, *examples, warmup=2, pool=None):
        self.buffers = tuple(e.detach().clone() for e in examples)
        self.graph = capture(step, *self.buffers, warmup=warmup, pool=pool)
