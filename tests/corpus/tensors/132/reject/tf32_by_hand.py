# verdict: wrong answer
# clears the last 13 bits of each float32, as TF32 does
# @accept/plain.py@
def _tf32(x):
    return (x.view(torch.int32) & ~0x1FFF).view(torch.float32) if x.dtype == torch.float32 else x


class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        return tree_map_only(torch.Tensor, _tf32, super().__call__(*(_tf32(i.clone()) for i in inputs)))
