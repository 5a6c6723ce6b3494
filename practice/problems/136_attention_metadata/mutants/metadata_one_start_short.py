# verdict: wrong answer
# diagnosis: the last entry of query_start_loc was not written: it has one entry more than there are requests
_right = write_metadata


def write_metadata(arrays, batch, num_tokens, num_reqs):
    last = arrays["query_start_loc"][num_reqs]
    _right(arrays, batch, num_tokens, num_reqs)
    if len(batch.query_start_loc) < num_reqs + 1:
        arrays["query_start_loc"][num_reqs] = last
