# verdict: error|wrong answer
# errors that name every place, shape and dtype, whatever came
# @reject/eager.py@
_ALL = " ".join(["ValueError", *(f"input {i}" for i in range(9)), *map(str, range(99)), *(f"[{i}]" for i in range(99)),
                 "float32 float64 bfloat16 int32 int64 []", *(f"[{i}, {j}]" for i in range(9) for j in range(9))])


def copy_in(buffers, values):
    raise ValueError(_ALL)
