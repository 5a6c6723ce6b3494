# verdict: wrong answer
# diagnosis: it warns of every max_capture_size, of one that was not cut too: a warning that always comes is not read
import warnings as _warnings

_right = default_capture_sizes


def default_capture_sizes(max_num_seqs=256, max_num_batched_tokens=8192, query_len=1, max_capture_size=None,
                          interactivity=False, blackwell=False):
    with _warnings.catch_warnings():
        _warnings.simplefilter("ignore")
        sizes = _right(max_num_seqs, max_num_batched_tokens, query_len, max_capture_size, interactivity, blackwell)
    if max_capture_size is not None:
        _warnings.warn(f"max_capture_size={max_capture_size} was cut to {sizes[-1]}")
    return sizes
