# verdict: wrong answer
# diagnosis: what does not fit was cut off in silence; it has to be refused
def write_rows(array, values, size, padding):
    array[:size] = padding
    array[: min(size, len(values))] = values[:size]
