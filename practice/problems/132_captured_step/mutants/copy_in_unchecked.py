# verdict: wrong answer
# diagnosis: nothing was checked before copy_, which refuses some wrong inputs with an error of its own, and broadcasts or casts the others
def copy_in(buffers, values):
    for buffer, value in zip(buffers, values, strict=False):
        buffer.copy_(value)
