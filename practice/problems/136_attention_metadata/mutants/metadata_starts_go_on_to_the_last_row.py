# verdict: wrong answer
# diagnosis: query_start_loc is padded with num_tokens, so a request of padding gets all the rows of padding; pad with n
_right = write_metadata


def write_metadata(arrays, batch, num_tokens, num_reqs):
    _right(arrays, batch, num_tokens, num_reqs)
    arrays["query_start_loc"][len(batch.query_start_loc) : num_reqs + 1] = num_tokens
