# verdict: wrong answer
# a nested tensor
# @accept/plain.py@
class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        return tree_map_only(torch.Tensor, lambda x: torch.nested.nested_tensor([x]), super().__call__(*inputs))
