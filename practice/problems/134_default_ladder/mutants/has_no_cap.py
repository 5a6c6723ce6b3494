# verdict: wrong answer
# diagnosis: the top is not capped: it is at most 512 (1024 on Blackwell)
def _rungs(smallest, top):
    return {s for s in (*smallest, *range(8, 256, 8), *range(256, top + 1, 16)) if s <= top}


_right = default_capture_sizes


def default_capture_sizes(max_num_seqs=256, max_num_batched_tokens=8192, query_len=1, max_capture_size=None,
                          interactivity=False, blackwell=False):
    sizes = _right(max_num_seqs, max_num_batched_tokens, query_len, max_capture_size, interactivity, blackwell)
    if max_capture_size is not None:
        return sizes
    top = min(2 * max_num_seqs * query_len, max_num_batched_tokens)
    return sorted({*sizes, *_rungs((1, 2, 4), top)})
