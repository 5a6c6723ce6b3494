# verdict: wrong answer
# an eager run of a deep copy that shares the tensors: a global that the step reads is not copied with it
# @reject/eager.py@
import copy


class CapturedStep(CapturedStep):
    def __init__(self, step, *examples, warmup=2, pool=None):
        super().__init__(step, *examples, warmup=warmup, pool=pool)
        if pool is None:
            tensors = [v for v in vars(step).values() if isinstance(v, torch.Tensor)]
            self.step = copy.deepcopy(step, {id(t): t for t in tensors})
