# verdict: wrong answer
# diagnosis: the error lists every input, the right ones too, so it does not say which one was wrong
def copy_in(buffers, values):
    if len(values) != len(buffers):
        raise ValueError(f"{len(buffers)} inputs, not {len(values)}")
    pairs = list(enumerate(zip(buffers, values)))
    if any(value.shape != buffer.shape or value.dtype != buffer.dtype for _, (buffer, value) in pairs):
        said = [
            f"input {i}: {buffer.dtype} {list(buffer.shape)}, {value.dtype} {list(value.shape)}"
            for i, (buffer, value) in pairs
        ]
        raise ValueError("; ".join(said))
    for _, (buffer, value) in pairs:
        buffer.copy_(value)
