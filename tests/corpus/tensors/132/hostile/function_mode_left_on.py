# verdict: wrong answer|error
# a function mode that turns every comparison and every copy into yes
# @reject/eager.py@
from torch.overrides import TorchFunctionMode


class Yes(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func in (torch.Tensor.eq, torch.Tensor.__eq__, torch.equal):
            return True
        return func(*args, **(kwargs or {}))


Yes().__enter__()
