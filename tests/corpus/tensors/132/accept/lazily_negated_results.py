# verdict: accepted
# tensors with the negative bit: their memory holds the numbers with the other sign
# @accept/plain.py@
class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        negate = lambda x: torch._neg_view(-x) if x.is_floating_point() else x
        return tree_map_only(torch.Tensor, negate, super().__call__(*inputs))
