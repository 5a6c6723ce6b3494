# verdict: wrong answer
# numpy's numbers
# @accept/plain.py@
class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        return tree_map_only(torch.Tensor, lambda x: x.float().cpu().numpy().flat[0], super().__call__(*inputs))
