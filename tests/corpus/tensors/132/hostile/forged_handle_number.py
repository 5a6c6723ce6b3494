# verdict: error|wrong answer|crashed
# a handle with a number that no four bytes hold
# @reject/eager.py@
import sys

Handle = sys.modules["wire"].Handle


class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        return Handle(1 << 40)
