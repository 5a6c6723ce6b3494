# verdict: wrong answer
# diagnosis: query_len makes no difference: with speculative decoding each request brings query_len tokens
_right = default_capture_sizes


def default_capture_sizes(max_num_seqs=256, max_num_batched_tokens=8192, query_len=1, max_capture_size=None,
                          interactivity=False, blackwell=False):
    return _right(max_num_seqs, max_num_batched_tokens, 1, max_capture_size, interactivity, blackwell)
