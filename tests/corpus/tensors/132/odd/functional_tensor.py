# verdict: wrong answer|error; on CUDA: accepted
# a tensor that wraps another, as torch.compile uses it
# @accept/plain.py@
class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        return tree_map_only(torch.Tensor, torch._to_functional_tensor, super().__call__(*inputs))
