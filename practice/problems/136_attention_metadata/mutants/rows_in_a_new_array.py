# verdict: wrong answer
# diagnosis: nothing was written: a new array was made, and the one that was given is as it was
def write_rows(array, values, size, padding):
    if len(values) > size:
        raise ValueError(f"{len(values)} values do not fit into {size} rows")
    array = np.concatenate([values, np.full(size - len(values), padding)])
