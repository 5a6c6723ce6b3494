# verdict: wrong answer|error
# a tensor in the layout of a library
# @accept/plain.py@
class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        return tree_map_only(torch.Tensor, lambda x: x.float().to_mkldnn(), super().__call__(*inputs))
