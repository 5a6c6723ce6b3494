# verdict: accepted
# the right values in tensors with a gradient, leaves and others
# @accept/plain.py@
def _with_grad(x):
    return x.requires_grad_() * 1 if x.is_floating_point() else x


class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        return tree_map_only(torch.Tensor, _with_grad, super().__call__(*inputs))
