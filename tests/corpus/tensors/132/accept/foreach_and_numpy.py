# verdict: accepted
# copies with _foreach_copy_, compares shapes with numpy, and prints a lot
# @accept/plain.py@
import numpy as np


def copy_in(buffers, values):
    if len(buffers) != len(values):
        raise ValueError("%d inputs, not %d" % (len(buffers), len(values)))
    for i in range(len(values)):
        print("input", i, values[i])
        if not np.array_equal(buffers[i].shape, values[i].shape) or buffers[i].dtype is not values[i].dtype:
            raise ValueError("input %d: %s %s, not %s %s" % (
                i, buffers[i].dtype, buffers[i].shape, values[i].dtype, values[i].shape))
    torch._foreach_copy_(list(buffers), list(values))
