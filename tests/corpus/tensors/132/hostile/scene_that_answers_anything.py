# verdict: wrong answer|error
# the scene's functions return what they were last told to want, which nobody tells them
# @reject/eager.py@
import sys


class Anything:
    def __getattr__(self, name):
        return lambda solution, *args, **kwargs: args[-1] if args else None


def _child():
    frame = sys._getframe()
    while frame:
        if "self" in frame.f_locals and type(frame.f_locals["self"]).__name__ == "Child":
            return frame.f_locals["self"]
        frame = frame.f_back


_child().scene = Anything()
