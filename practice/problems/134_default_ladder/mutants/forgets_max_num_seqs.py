# verdict: wrong answer
# diagnosis: max_num_seqs is not in the ladder: the batch of a full server would be padded in every step
_right = default_capture_sizes


def default_capture_sizes(max_num_seqs=256, max_num_batched_tokens=8192, query_len=1, max_capture_size=None,
                          interactivity=False, blackwell=False):
    sizes = _right(max_num_seqs, max_num_batched_tokens, query_len, max_capture_size, interactivity, blackwell)
    if query_len > 1 or max_num_seqs in (1, 2, 4) or max_num_seqs == max_num_batched_tokens:
        return sizes
    if max_num_seqs % (8 if max_num_seqs < 256 else 16) == 0 or (interactivity and max_num_seqs <= 32):
        return sizes
    return [s for s in sizes if s != max_num_seqs]
