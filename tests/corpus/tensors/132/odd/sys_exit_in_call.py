# verdict: error
# ends the program in a call
# @accept/plain.py@
import sys


class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        sys.exit(0)
