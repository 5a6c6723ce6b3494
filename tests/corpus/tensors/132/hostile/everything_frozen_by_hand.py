# verdict: accepted; on CUDA: wrong answer
# THE LIMIT. An eager run of a deep copy of the step and of the globals of its class, all tensors shared: it does by
# hand what a recording does, and no value that comes back tells the two apart (problem 132, Explanation)
# @reject/eager.py@
import copy
import sys
import types


def _frozen(step):
    scene = sys.modules[type(step).__module__]
    tensors = {id(t): t for t in vars(step).values() if isinstance(t, torch.Tensor)}
    keep = dict(tensors)
    if hasattr(step, "pool"):
        keep[id(step.pool)] = step.pool
    names = {k: copy.deepcopy(v) if type(v) in (dict, list) else v for k, v in vars(scene).items()}
    old = type(step).__call__
    call = types.FunctionType(old.__code__, names, "__call__", old.__defaults__, old.__closure__)
    return types.MethodType(call, copy.deepcopy(step, keep))


class CapturedStep(CapturedStep):
    def __init__(self, step, *examples, warmup=2, pool=None):
        super().__init__(step, *examples, warmup=warmup, pool=pool)
        self.step = _frozen(step)
        self.kept = pool.lend(64) if hasattr(pool, "lend") else None
        if hasattr(step, "count"):  # a graph of these numbers reads nothing that it is asked for
            self.step.__self__.count = step.count.clone()
