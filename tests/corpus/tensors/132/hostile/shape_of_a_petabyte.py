# verdict: crashed|wrong answer
# a header of a few bytes that asks for a petabyte
# @reject/eager.py@
import os
import struct
import sys
import time

import msgpack


def _send(value):
    """Answers in the worker's place, with the right id, and ends before the worker answers too."""
    f = sys._getframe(1)
    while "rid" not in f.f_locals:
        f = f.f_back
    b = b"\x94" + msgpack.packb(f.f_locals["rid"]) + msgpack.packb("ok") + value + msgpack.packb([None, []])
    os.write(3, struct.pack("!I", len(b)) + b)
    time.sleep(0.3)
    os._exit(0)


def _tensor(dtype, shape, data):
    return msgpack.packb(msgpack.ExtType(3, msgpack.packb([dtype, shape, data])))


class CapturedStep(CapturedStep):
    def __call__(self, *inputs):
        _send(_tensor('float32', [2**31 - 1] * 2, b''))
