# verdict: wrong answer
# diagnosis: only what copy_ refuses by itself was refused: it broadcasts smaller shapes without a word, so compare the shapes
def copy_in(buffers, values):
    if len(values) != len(buffers):
        raise ValueError(f"the captured step takes {len(buffers)} inputs, not {len(values)}")
    for place, (buffer, value) in enumerate(zip(buffers, values, strict=True)):
        unfit = value.dim() > buffer.dim() or any(
            v not in (1, b) for v, b in zip(reversed(value.shape), reversed(buffer.shape), strict=False)
        )
        if value.dtype != buffer.dtype or unfit:
            raise ValueError(f"input {place}: {buffer.dtype} {list(buffer.shape)}, {value.dtype} {list(value.shape)}")
    for buffer, value in zip(buffers, values, strict=True):
        buffer.copy_(value)
