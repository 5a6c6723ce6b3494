# verdict: wrong answer
# an unsigned type that few operators know
# @accept/plain.py@
class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        return tree_map_only(torch.Tensor, lambda x: x.to(torch.uint16), super().__call__(*inputs))
