# verdict: memory|wrong answer
# four bytes, made contiguous as a tebibyte
# @reject/eager.py@
class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        return torch.zeros(1).expand(1 << 38).contiguous()
