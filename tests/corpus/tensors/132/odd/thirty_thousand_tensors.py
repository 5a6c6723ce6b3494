# verdict: wrong answer|memory|timeout
# a list with very many tensors
# @accept/plain.py@
class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        return [super().__call__(*inputs)] * 30_000
