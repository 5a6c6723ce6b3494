# verdict: wrong answer
# diagnosis: the top knows query_len, but the decode batches (request count times query_len) are not added
def _rungs(smallest, top):
    return {s for s in (*smallest, *range(8, 256, 8), *range(256, top + 1, 16)) if s <= top}


_right = default_capture_sizes


def default_capture_sizes(max_num_seqs=256, max_num_batched_tokens=8192, query_len=1, max_capture_size=None,
                          interactivity=False, blackwell=False):
    sizes = _right(max_num_seqs, max_num_batched_tokens, query_len, max_capture_size, interactivity, blackwell)
    if query_len == 1 or max_capture_size is not None:
        return sizes
    top = min(2 * max_num_seqs * query_len, 1024 if blackwell else 512, max_num_batched_tokens)
    rungs = _rungs(range(1, 33) if interactivity else (1, 2, 4), top)
    return [s for s in sizes if s in rungs or s == max_num_batched_tokens]
