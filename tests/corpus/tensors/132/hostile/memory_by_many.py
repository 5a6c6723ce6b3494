# verdict: memory
# asks torch for more and more, and swallows what torch says
# @reject/eager.py@
class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        kept = []
        try:
            while True:
                kept.append(torch.empty(32 << 20))
        except RuntimeError:
            del kept
        return torch.empty(1 << 40)
