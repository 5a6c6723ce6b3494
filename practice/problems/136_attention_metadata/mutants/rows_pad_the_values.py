# verdict: wrong answer
# diagnosis: the list of values itself was made longer: it belongs to the batch, and is only read; pad in the array
_right = write_rows


def write_rows(array, values, size, padding):
    _right(array, values, size, padding)
    if isinstance(values, list):
        values.extend([padding] * (size - len(values)))
