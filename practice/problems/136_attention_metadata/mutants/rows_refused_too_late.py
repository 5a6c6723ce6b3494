# verdict: wrong answer
# diagnosis: values were refused after some had been written: check before the first write
def write_rows(array, values, size, padding):
    array[: len(values)] = values
    if len(values) > size:
        raise ValueError(f"{len(values)} values do not fit into {size} rows")
    array[len(values) : size] = padding
