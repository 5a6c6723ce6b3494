# verdict: wrong answer
# diagnosis: max_num_batched_tokens does not bound the ladder: no step can hold more tokens than that
_right = default_capture_sizes


def default_capture_sizes(max_num_seqs=256, max_num_batched_tokens=8192, query_len=1, max_capture_size=None,
                          interactivity=False, blackwell=False):
    return _right(max_num_seqs, 8192, query_len, max_capture_size, interactivity, blackwell)
