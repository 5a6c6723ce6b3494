# verdict: wrong answer
# complex numbers whose real part is right
# @accept/plain.py@
class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        return tree_map_only(torch.Tensor, lambda x: x.to(torch.complex64), super().__call__(*inputs))
