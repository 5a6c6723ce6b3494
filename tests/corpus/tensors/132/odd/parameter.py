# verdict: wrong answer
# a Parameter is a Tensor by isinstance, and no plain one
# @accept/plain.py@
class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        return tree_map_only(torch.Tensor, lambda x: torch.nn.Parameter(x, requires_grad=False), super().__call__(*inputs))
