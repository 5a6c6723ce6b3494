# verdict: wrong answer
# makes the wire in this process take a subclass for a plain tensor
# @reject/eager.py@
import sys


class Sub(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return super().__torch_function__(func, types, args, kwargs)


_torch = sys.modules["wire"]._torch
_pack = _torch.pack


def pack(x):
    return _pack(x.as_subclass(Sub))


_torch.Tensor, _torch.pack = Sub, pack


class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        return tree_map_only(torch.Tensor, lambda x: x.as_subclass(Sub), super().__call__(*inputs))
