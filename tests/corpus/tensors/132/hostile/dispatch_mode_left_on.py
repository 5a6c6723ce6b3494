# verdict: wrong answer|error
# a dispatch mode under which all sums are zero, left on for the judge's own work in this process
# @reject/eager.py@
from torch.utils._python_dispatch import TorchDispatchMode


class Zero(TorchDispatchMode):
    @classmethod
    def _should_skip_dynamo(cls):
        return False  # or the first operator would import the compiler

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        return result.zero_() if func is torch.ops.aten.add.Tensor else result


class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        result = super().__call__(*inputs)
        Zero().__enter__()
        return result
