# verdict: wrong answer
# diagnosis: nothing was written into the memory of the buffer: another tensor under its name, or another memory under the tensor, is not seen by a graph, which knows the old address
def copy_in(buffers, values):
    if len(values) != len(buffers):
        raise ValueError(f"the captured step takes {len(buffers)} inputs, not {len(values)}")
    for place, (buffer, value) in enumerate(zip(buffers, values, strict=True)):
        if value.shape != buffer.shape or value.dtype != buffer.dtype:
            raise ValueError(f"input {place}: {buffer.dtype} {list(buffer.shape)}, {value.dtype} {list(value.shape)}")
    for buffer, value in zip(buffers, values, strict=True):
        buffer.data = value
