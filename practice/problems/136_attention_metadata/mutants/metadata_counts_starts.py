# verdict: wrong answer
# diagnosis: the refusal counts the entries of query_start_loc, one more than requests; name the requests and how many fit
_right = write_metadata


def write_metadata(arrays, batch, num_tokens, num_reqs):
    if len(batch.query_start_loc) > num_reqs + 1:
        raise ValueError(f"{len(batch.query_start_loc)} entries, and {num_reqs + 1} fit")
    _right(arrays, batch, num_tokens, num_reqs)
