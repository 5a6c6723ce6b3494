# verdict: wrong answer
# diagnosis: a given max_capture_size was held to 512 too: that bound is for the top that nobody gave
_right = default_capture_sizes


def default_capture_sizes(max_num_seqs=256, max_num_batched_tokens=8192, query_len=1, max_capture_size=None,
                          interactivity=False, blackwell=False):
    given = max_capture_size and min(max_capture_size, 512)
    return _right(max_num_seqs, max_num_batched_tokens, query_len, given, interactivity, blackwell)
