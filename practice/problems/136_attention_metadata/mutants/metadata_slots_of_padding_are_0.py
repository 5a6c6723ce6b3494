# verdict: wrong answer
# diagnosis: the slots of padding are 0, which is a place in the cache; -1 means that no key is written
_right = write_metadata


def write_metadata(arrays, batch, num_tokens, num_reqs):
    _right(arrays, batch, num_tokens, num_reqs)
    arrays["slot_mapping"][len(batch.slot_mapping) : num_tokens] = 0
