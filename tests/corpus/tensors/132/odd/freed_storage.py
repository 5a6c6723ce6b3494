# verdict: wrong answer|error|crashed
# tensors whose memory was given back
# @accept/plain.py@
def _freed(x):
    x.untyped_storage().resize_(0)
    return x


class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        return tree_map_only(torch.Tensor, _freed, super().__call__(*inputs))
