# verdict: wrong answer
# the right numbers in lists
# @accept/plain.py@
class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        return tree_map_only(torch.Tensor, torch.Tensor.tolist, super().__call__(*inputs))
