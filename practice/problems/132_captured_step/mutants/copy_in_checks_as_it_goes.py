# verdict: wrong answer
# diagnosis: inputs before the wrong one were copied already: check all of them before the first copy
_right = copy_in


def copy_in(buffers, values):
    if len(values) != len(buffers):
        _right(buffers, values)
    for place, (buffer, value) in enumerate(zip(buffers, values, strict=True)):
        if value.shape != buffer.shape or value.dtype != buffer.dtype:
            raise ValueError(f"input {place}: {buffer.dtype} {list(buffer.shape)}, {value.dtype} {list(value.shape)}")
        buffer.copy_(value)
