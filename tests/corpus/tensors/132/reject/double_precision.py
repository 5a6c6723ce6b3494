# verdict: wrong answer
# better numbers than asked for, in another dtype
# @accept/plain.py@
class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        return tree_map_only(torch.Tensor, torch.Tensor.double, super().__call__(*inputs))
