# verdict: wrong answer
# diagnosis: sizes were added although a max_capture_size was given: then the ladder is the rungs alone
_right = default_capture_sizes


def default_capture_sizes(max_num_seqs=256, max_num_batched_tokens=8192, query_len=1, max_capture_size=None,
                          interactivity=False, blackwell=False):
    sizes = _right(max_num_seqs, max_num_batched_tokens, query_len, max_capture_size, interactivity, blackwell)
    if max_capture_size is None or max_num_seqs > max_capture_size:
        return sizes
    return sorted({*sizes, max_num_seqs})
