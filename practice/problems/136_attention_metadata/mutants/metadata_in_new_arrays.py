# verdict: wrong answer
# diagnosis: the dict was given new arrays: the graph goes on reading the old ones
_right = write_metadata


def write_metadata(arrays, batch, num_tokens, num_reqs):
    for name in arrays:
        arrays[name] = arrays[name].copy()
    _right(arrays, batch, num_tokens, num_reqs)
