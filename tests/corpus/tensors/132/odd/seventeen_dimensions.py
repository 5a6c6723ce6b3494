# verdict: wrong answer
# more dimensions than the wire carries
# @accept/plain.py@
class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        return tree_map_only(torch.Tensor, lambda x: x.reshape(*[1] * 17, *x.shape), super().__call__(*inputs))
