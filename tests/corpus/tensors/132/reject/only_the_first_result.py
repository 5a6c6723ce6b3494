# verdict: wrong answer
# the first tensor of the nest
# @accept/plain.py@
from torch.utils._pytree import tree_leaves


class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        return tree_leaves(super().__call__(*inputs))[0]
