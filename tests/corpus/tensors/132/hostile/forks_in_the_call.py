# verdict: wrong answer|crashed|error
# a twin that answers as well
# @reject/eager.py@
import os


class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        try:
            os.fork()
        except OSError:
            pass
        return super().__call__(*inputs)
