# verdict: wrong answer
# diagnosis: a value of another dtype was taken: copy_ casts it without a word, so compare the dtypes
_right = copy_in


def copy_in(buffers, values):
    if len(values) == len(buffers):
        values = [v.to(b.dtype) for b, v in zip(buffers, values, strict=True)]
    _right(buffers, values)
