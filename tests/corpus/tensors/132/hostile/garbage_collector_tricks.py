# verdict: wrong answer
# objects that do things when they are collected, and a collector that is never run
# @reject/eager.py@
import gc
import os

gc.disable()


class Grave:
    def __del__(self):
        os.write(2, b"accepted\n")
        torch.set_default_dtype(torch.float16)


class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        Grave()
        gc.freeze()
        return super().__call__(*inputs)
