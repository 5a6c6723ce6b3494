# verdict: wrong answer
# a conjugated view
# @accept/plain.py@
class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        return tree_map_only(torch.Tensor, lambda x: x.to(torch.complex64).conj(), super().__call__(*inputs))
