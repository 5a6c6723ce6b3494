# verdict: wrong answer
# as many dimensions as torch can
# @accept/plain.py@
class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        return tree_map_only(torch.Tensor, lambda x: x.reshape(*[1] * (64 - x.dim()), *x.shape), super().__call__(*inputs))
