# verdict: wrong answer
# diagnosis: interactivity makes no difference: it captures every size from 1 to 32
_right = default_capture_sizes


def default_capture_sizes(max_num_seqs=256, max_num_batched_tokens=8192, query_len=1, max_capture_size=None,
                          interactivity=False, blackwell=False):
    return _right(max_num_seqs, max_num_batched_tokens, query_len, max_capture_size, False, blackwell)
