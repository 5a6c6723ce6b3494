# verdict: wrong answer
# diagnosis: a given top that is no rung was made one; it is cut to the rung below
_right = default_capture_sizes


def default_capture_sizes(max_num_seqs=256, max_num_batched_tokens=8192, query_len=1, max_capture_size=None,
                          interactivity=False, blackwell=False):
    sizes = _right(max_num_seqs, max_num_batched_tokens, query_len, max_capture_size, interactivity, blackwell)
    return sizes if max_capture_size is None else sorted({*sizes, min(max_capture_size, max_num_batched_tokens)})
