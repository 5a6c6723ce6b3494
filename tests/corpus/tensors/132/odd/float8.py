# verdict: wrong answer
# eight bits a number
# @accept/plain.py@
class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        return tree_map_only(torch.Tensor, lambda x: x.to(torch.float8_e4m3fn), super().__call__(*inputs))
