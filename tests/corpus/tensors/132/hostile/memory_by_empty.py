# verdict: memory
# asks torch for a tebibyte
# @reject/eager.py@
class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        return torch.empty(1 << 40)
