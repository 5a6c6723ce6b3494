# verdict: wrong answer
# diagnosis: the padding is 0, whatever was asked for
def write_rows(array, values, size, padding):
    if len(values) > size:
        raise ValueError(f"{len(values)} values do not fit into {size} rows")
    array[:size] = 0
    array[: len(values)] = values
