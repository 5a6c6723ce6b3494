# verdict: wrong answer
# diagnosis: behind the values stand numbers of an earlier batch: no padding was written
def write_rows(array, values, size, padding):
    if len(values) > size:
        raise ValueError(f"{len(values)} values do not fit into {size} rows")
    array[: len(values)] = values
