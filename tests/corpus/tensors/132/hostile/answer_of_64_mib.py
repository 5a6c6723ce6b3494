# verdict: wrong answer|memory
# an answer of 64 MiB
# @reject/eager.py@
class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        return torch.zeros(16 << 20)
