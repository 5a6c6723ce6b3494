# verdict: wrong answer
# results pass through bfloat16
# @accept/plain.py@
class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        low = lambda x: x.bfloat16().to(x.dtype)
        return tree_map_only(torch.Tensor, low, super().__call__(*inputs))
