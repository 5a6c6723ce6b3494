# verdict: timeout
# a replay that never ends
# @accept/plain.py@
import threading


class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        threading.Event().wait()
