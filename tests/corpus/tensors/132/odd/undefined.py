# verdict: wrong answer|error
# the gradient of nothing
# @accept/plain.py@
class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        return tree_map_only(torch.Tensor, lambda x: x.grad, super().__call__(*inputs))
