# verdict: wrong answer
# diagnosis: it warns of a top that nobody asked for: only a max_capture_size that was given and cut is worth a warning
import warnings as _warnings

_right = default_capture_sizes


def default_capture_sizes(max_num_seqs=256, max_num_batched_tokens=8192, query_len=1, max_capture_size=None,
                          interactivity=False, blackwell=False):
    sizes = _right(max_num_seqs, max_num_batched_tokens, query_len, max_capture_size, interactivity, blackwell)
    top = min(2 * max_num_seqs * query_len, 1024 if blackwell else 512, max_num_batched_tokens)
    if max_capture_size is None and top not in _right(1, 8192, 1, 2048, interactivity):
        _warnings.warn(f"{top} was cut to {sizes[-1]}")
    return sizes
