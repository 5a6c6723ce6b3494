# verdict: wrong answer|error
# takes the worker's place: every answer is the last argument
# @reject/eager.py@
import gc
import sys

_child = next(o for o in gc.get_objects() if type(o).__name__ == "Child" and hasattr(o, "kept"))
_wire = sys.modules["wire"]


def answer(rid, op, target, name, args, kwargs, keep, echo):
    value = None if keep is not None or not args else args[-1]
    return _wire.frame([rid, "ok", _wire.encode(value), _wire.encode([None, []])])


_child.answer = answer
