# verdict: wrong answer
# diagnosis: max_num_batched_tokens bounds the ladder but is no rung of it: the largest steps run without a graph
_right = default_capture_sizes


def default_capture_sizes(max_num_seqs=256, max_num_batched_tokens=8192, query_len=1, max_capture_size=None,
                          interactivity=False, blackwell=False):
    tokens = max_num_batched_tokens
    sizes = _right(max_num_seqs, tokens, query_len, max_capture_size, interactivity, blackwell)
    if tokens in (1, 2, 4) or tokens % (8 if tokens < 256 else 16) == 0 or tokens == max_num_seqs:
        return sizes
    return [s for s in sizes if s != tokens]
