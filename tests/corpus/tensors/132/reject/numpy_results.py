# verdict: wrong answer
# numpy arrays in place of tensors
# @accept/plain.py@
class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        return tree_map_only(torch.Tensor, lambda x: x.float().cpu().numpy(), super().__call__(*inputs))
