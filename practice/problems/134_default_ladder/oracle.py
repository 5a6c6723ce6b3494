"""The rule, read off once more from the statement, number by number. Lives in the judge's process only."""

from __future__ import annotations


def is_rung(size: int, interactivity: bool) -> bool:
    if size < 8 or (interactivity and size <= 32):
        return interactivity or size in (1, 2, 4)
    return size % 8 == 0 if size < 256 else size % 16 == 0


def default_capture_sizes(
    max_num_seqs=256,
    max_num_batched_tokens=8192,
    query_len=1,
    max_capture_size=None,
    interactivity=False,
    blackwell=False,
):
    limit = 1024 if blackwell else 512
    top = max_capture_size if max_capture_size is not None else min(2 * max_num_seqs * query_len, limit)
    top = min(top, max_num_batched_tokens)

    def wanted(size: int) -> bool:
        if is_rung(size, interactivity):
            return True
        if max_capture_size is not None:
            return False
        requests, rest = divmod(size, query_len)
        is_decode_batch = not rest and (
            requests == max_num_seqs or (requests < max_num_seqs and is_rung(requests, False))
        )
        return size == max_num_batched_tokens or is_decode_batch

    return [size for size in range(1, top + 1) if wanted(size)]


def warning_names(max_num_seqs=256, max_num_batched_tokens=8192, query_len=1, max_capture_size=None, **_):
    """The two numbers that the warning about a cut top must hold, as text."""
    sizes = default_capture_sizes(max_num_seqs, max_num_batched_tokens, query_len, max_capture_size)
    return [str(max_capture_size), str(sizes[-1])]
