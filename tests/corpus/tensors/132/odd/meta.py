# verdict: wrong answer
# a tensor without memory
# @accept/plain.py@
class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        return tree_map_only(torch.Tensor, lambda x: x.to('meta'), super().__call__(*inputs))
