# verdict: error
# diagnosis: only lists are taken as values; an array is not joined by `+`, and has no single truth value
def write_rows(array, values, size, padding):
    if len(values) > size:
        raise ValueError(f"{len(values)} values do not fit into {size} rows")
    array[:size] = values + [padding] * (size - len(values))
