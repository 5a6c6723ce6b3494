# verdict: crashed
# bytes that are no message, by ctypes
# @reject/eager.py@
import ctypes


class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        ctypes.CDLL(None).write(3, b"\x00\x00\x00\x04\xc0\xc0\xc0\xc0", 8)
        return super().__call__(*inputs)
