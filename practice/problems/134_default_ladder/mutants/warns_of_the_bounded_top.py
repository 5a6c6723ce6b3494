# verdict: wrong answer
# diagnosis: the warning names max_num_batched_tokens, which bounded the top, and not the max_capture_size that was asked for
_right = default_capture_sizes


def default_capture_sizes(max_num_seqs=256, max_num_batched_tokens=8192, query_len=1, max_capture_size=None,
                          interactivity=False, blackwell=False):
    given = max_capture_size and min(max_capture_size, max_num_batched_tokens)
    return _right(max_num_seqs, max_num_batched_tokens, query_len, given, interactivity, blackwell)
