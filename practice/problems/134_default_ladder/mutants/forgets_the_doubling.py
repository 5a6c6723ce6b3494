# verdict: wrong answer
# diagnosis: the ladder ends at max_num_seqs; the top is twice that (mixed batches hold more tokens than requests)
_right = default_capture_sizes


def default_capture_sizes(max_num_seqs=256, max_num_batched_tokens=8192, query_len=1, max_capture_size=None,
                          interactivity=False, blackwell=False):
    sizes = _right(max_num_seqs, max_num_batched_tokens, query_len, max_capture_size, interactivity, blackwell)
    if max_capture_size is not None:
        return sizes
    return [s for s in sizes if s <= max_num_seqs * query_len]
