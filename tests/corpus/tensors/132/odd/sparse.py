# verdict: wrong answer
# a sparse tensor with the right numbers
# @accept/plain.py@
class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        return tree_map_only(torch.Tensor, lambda x: x.to_sparse(), super().__call__(*inputs))
