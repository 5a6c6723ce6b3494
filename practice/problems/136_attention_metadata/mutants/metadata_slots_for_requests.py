# verdict: wrong answer
# diagnosis: slots were padded up to the number of requests; there is one for each token
_right = write_metadata


def write_metadata(arrays, batch, num_tokens, num_reqs):
    n, old = len(batch.slot_mapping), arrays["slot_mapping"].copy()
    _right(arrays, batch, num_tokens, num_reqs)
    arrays["slot_mapping"][max(n, num_reqs) :] = old[max(n, num_reqs) :]
