# verdict: accepted
# the right values in tensors that are not contiguous, with an offset, in a storage that is too large
# @accept/plain.py@
def _strided(x):
    large = torch.full((*x.shape, 3), 77, dtype=x.dtype, device=x.device)
    large[..., 1] = x
    return large[..., 1]


class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        return tree_map_only(torch.Tensor, _strided, super().__call__(*inputs))
