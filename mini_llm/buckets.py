"""Which batch sizes get a CUDA graph, and what padding to them costs.

A graph replays one batch size only. An engine therefore captures a ladder of sizes and pads every batch
up to the next rung: many rungs cost capture time and memory, few rungs cost padded rows. The functions
here choose the rungs, find the one a batch runs at, and count what is wasted. None of them needs torch.
"""

import warnings
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


def default_capture_sizes(
    max_num_seqs: int = 256,
    max_num_batched_tokens: int = 8192,
    query_len: int = 1,
    max_capture_size: int | None = None,
    interactivity: bool = False,
    blackwell: bool = False,
) -> list[int]:
    """The ladder that vLLM captures when nobody names one, ascending, in tokens per step.

    `query_len` is how many tokens a request has in a decode step: 1, or 1 + the draft tokens of
    speculative decoding. `max_capture_size` is the top if you choose it yourself; a choice that is no
    rung is cut to the rung below, with a UserWarning. All numbers are at least 1.
    Source: `VllmConfig._set_cudagraph_sizes`, vLLM 0.33.0.
    """
    # The problem does not ask for this check.
    numbers = {
        "max_num_seqs": max_num_seqs,
        "max_num_batched_tokens": max_num_batched_tokens,
        "query_len": query_len,
        "max_capture_size": max_capture_size,
    }
    for name, value in numbers.items():
        if value is not None and value < 1:
            raise ValueError(f"{name} must be at least 1, not {value}")

    def rungs(smallest: Sequence[int], top: int) -> set[int]:
        steps = (*smallest, *range(8, 256, 8), *range(256, top + 1, 16))
        return {size for size in steps if size <= top}

    if max_capture_size is not None:
        top = max_capture_size
    else:
        top = min(2 * max_num_seqs * query_len, 1024 if blackwell else 512)
    top = min(top, max_num_batched_tokens)

    sizes = rungs(range(1, 33) if interactivity else (1, 2, 4), top)
    if max_capture_size is None:
        # The fullest batches get a rung of their own, even where they fall between two steps.
        # A decode step of n requests holds query_len * n tokens.
        requests = rungs((1, 2, 4), min(max_num_seqs, top)) | {max_num_seqs}
        fullest = {query_len * n for n in requests} | {max_num_batched_tokens}
        sizes |= {size for size in fullest if size <= top}
    elif max(sizes) < max_capture_size:
        warnings.warn(
            f"max_capture_size={max_capture_size} is no rung of the ladder: cut to {max(sizes)}, "
            "and larger batches run without a graph",
            stacklevel=2,
        )
    return sorted(sizes)


def pad_to(bs: int, sizes: Sequence[int]) -> int | None:
    """The smallest captured size that a batch of `bs` rows fits in, or None when none is large enough.

    `bs` is at least 1. `sizes` is ascending and may be empty. None means: run this batch without a graph.
    """
    # The problem does not ask for this check.
    if bs < 1:
        raise ValueError(f"a batch has at least 1 row, not {bs}")
    i = bisect_left(sizes, bs)
    return sizes[i] if i < len(sizes) else None


def expected_waste(dist: Mapping[int, int], sizes: Sequence[int]) -> float:
    """Mean number of padded rows per step.

    `dist` maps a batch size to the number of steps that had it, 0 or more. A batch above the largest size
    runs without a graph: it wastes nothing, and is still a step. With no steps at all the mean is 0.
    """
    # The problem does not ask for this check.
    if any(count < 0 for count in dist.values()):
        raise ValueError("counts in dist must not be negative")
    steps = sum(dist.values())
    if steps == 0:
        return 0.0
    padding = 0
    for bs, count in dist.items():
        size = pad_to(bs, sizes)
        if size is not None:
            padding += count * (size - bs)
    return padding / steps


def best_sizes(dist: Mapping[int, int], max_bs: int, k: int) -> list[int]:
    """The `k` sizes out of 1..max_bs, `max_bs` among them, with the smallest expected waste.

    `dist` maps a batch size to the number of steps that had it; batches above `max_bs` run without a graph
    and waste nothing. Ascending; of equally good lists, the first in dictionary order. `k` is from 1 to
    `max_bs`. Takes O(k * max_bs^2) time.
    """
    # The problem does not ask for this check.
    if not 1 <= k <= max_bs:
        raise ValueError(f"k must be from 1 to max_bs={max_bs}, not {k}")

    # Steps, and rows over all steps, that batches of 1..b account for. Whole numbers, so that equal
    # choices compare equal: sums of probabilities would break ties by rounding.
    steps, rows = [0], [0]
    for bs in range(1, max_bs + 1):
        count = dist.get(bs, 0)
        steps.append(steps[-1] + count)
        rows.append(rows[-1] + count * bs)

    def padding(below: int, size: int) -> int:
        """Padded rows when every batch in below+1..size runs at `size`."""
        return size * (steps[size] - steps[below]) - (rows[size] - rows[below])

    # waste[b]: the least padding of the batches above b, with so many sizes left to place above b.
    # One size left: it is max_bs. Each round allows one more, and keeps which size came first.
    # Going from the top down, the smallest of equal first sizes gives the smallest list.
    waste = [padding(b, max_bs) for b in range(max_bs)]
    rounds = [[max_bs] * max_bs]
    for _ in range(k - 1):
        best = [
            min((padding(b, first) + waste[first], first) for first in range(b + 1, len(waste)))
            for b in range(len(waste) - 1)  # the last b would leave no room for the sizes above it
        ]
        waste = [least for least, _ in best]
        rounds.append([first for _, first in best])

    sizes, b = [], 0
    for first in reversed(rounds):
        b = first[b]
        sizes.append(b)
    return sizes


@dataclass(frozen=True)
class PaddingStats:
    """Three means that are all called 'the padding', and differ: always say which one you mean."""

    rows_per_step: float  # mean of (padded - n), in rows
    share_per_step: float  # mean of (padded - n) / padded: every step weighs the same, small ones too
    share_of_rows: float  # all padded rows / all rows run: what the GPU spends


def padding_stats(dist: Mapping[int, int], sizes: Sequence[int]) -> PaddingStats:
    """What padding to `sizes` costs over the steps in `dist` (batch size -> number of steps).

    A batch above the largest size runs unpadded. With no steps at all every mean is 0.
    """
    steps = sum(dist.values())
    if steps == 0:
        return PaddingStats(0.0, 0.0, 0.0)
    runs = [(count, bs, pad_to(bs, sizes) or bs) for bs, count in dist.items()]
    padded_rows = sum(count * (size - bs) for count, bs, size in runs)
    all_rows = sum(count * size for count, _, size in runs)
    shares = sum(count * (size - bs) / size for count, bs, size in runs)
    return PaddingStats(padded_rows / steps, shares / steps, padded_rows / all_rows)


def sglang_decode_sizes(top: int) -> list[int]:
    """SGLang's ladder of decode batch sizes up to `top`, without speculative decoding, ascending.

    Finer than vLLM's at small sizes, coarser from 512. Raises ValueError when `top` is below 1.
    Source: `generate_decode_cuda_graph_batch_sizes`, SGLang 0.5.23.
    """
    if top < 1:
        raise ValueError(f"top must be at least 1, not {top}")
    steps = (1, 2, 4, 8, 12, *range(16, 257, 8), *range(272, 512, 16), *range(512, top + 1, 32))
    return sorted({size for size in steps if size <= top} | {top})
