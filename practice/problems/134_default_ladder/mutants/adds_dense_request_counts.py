# verdict: wrong answer
# diagnosis: the decode batches were made from every request count; only the request counts 1, 2, 4, 8, 16, 24, ... and max_num_seqs itself are used
_right = default_capture_sizes


def default_capture_sizes(max_num_seqs=256, max_num_batched_tokens=8192, query_len=1, max_capture_size=None,
                          interactivity=False, blackwell=False):
    sizes = _right(max_num_seqs, max_num_batched_tokens, query_len, max_capture_size, interactivity, blackwell)
    if query_len == 1 or max_capture_size is not None:
        return sizes
    top = min(2 * max_num_seqs * query_len, 1024 if blackwell else 512, max_num_batched_tokens)
    return sorted({*sizes, *(query_len * n for n in range(1, max_num_seqs + 1) if query_len * n <= top)})
