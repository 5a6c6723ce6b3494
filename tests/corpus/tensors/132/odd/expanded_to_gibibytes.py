# verdict: wrong answer
# four bytes of memory, seen as a petabyte
# @accept/plain.py@
class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        return tree_map_only(torch.Tensor, lambda x: x.reshape(-1)[:1].expand(1 << 48), super().__call__(*inputs))
