# verdict: wrong answer
# diagnosis: query_start_loc is padded with 0: the numbers fall again; they have to stay at the end of the last request
_right = write_metadata


def write_metadata(arrays, batch, num_tokens, num_reqs):
    _right(arrays, batch, num_tokens, num_reqs)
    arrays["query_start_loc"][len(batch.query_start_loc) : num_reqs + 1] = 0
