# verdict: wrong answer
# the step's attributes were replaced by copies before the recording: its own tensors are not what the graph uses
# @accept/plain.py@
import copy


class CapturedStep(CapturedStep):
    def __init__(self, step, *examples, warmup=2, pool=None):
        super().__init__(copy.deepcopy(step) if pool is None else step, *examples, warmup=warmup, pool=pool)
