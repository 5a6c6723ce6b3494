# verdict: wrong answer
# a compressed sparse tensor with the right numbers
# @accept/plain.py@
class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        return tree_map_only(torch.Tensor, lambda x: (x if x.dim() == 2 else x.reshape(1, -1)).to_sparse_csr(), super().__call__(*inputs))
