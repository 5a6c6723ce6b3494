# verdict: wrong answer
# diagnosis: the lengths of padding are 1; here they are 0, and such a row sees no key
_right = write_metadata


def write_metadata(arrays, batch, num_tokens, num_reqs):
    _right(arrays, batch, num_tokens, num_reqs)
    arrays["seq_lens"][len(batch.seq_lens) : num_reqs] = 1
