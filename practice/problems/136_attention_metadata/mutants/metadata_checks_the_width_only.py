# verdict: wrong answer
# diagnosis: too many tokens or requests were not refused: the rows behind the graph's size were written as well
_right = write_metadata


def write_metadata(arrays, batch, num_tokens, num_reqs):
    n, b = len(batch.input_ids), len(batch.seq_lens)
    _right(arrays, batch, max(n, num_tokens), max(b, num_reqs))
