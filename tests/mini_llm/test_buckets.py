"""The ladder, padding and the choice of sizes, against the published values and against enumeration."""

import random
import warnings
from itertools import combinations

import pytest

from mini_llm.buckets import (
    PaddingStats,
    best_sizes,
    default_capture_sizes,
    expected_waste,
    pad_to,
    padding_stats,
    sglang_decode_sizes,
)

LADDER_512 = [1, 2, 4, *range(8, 256, 8), *range(256, 513, 16)]
EVERY_BATCH = {n: 1 for n in range(1, 513)}


# --- the default ladder ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments, count",
    [
        (dict(), 51),
        (dict(max_num_seqs=1024), 51),
        (dict(max_num_seqs=128), 35),
        (dict(max_num_seqs=100), 29),
        (dict(max_num_seqs=257), 52),
        (dict(max_num_seqs=300), 52),
        (dict(max_num_batched_tokens=100), 16),
        (dict(interactivity=True), 76),
        (dict(max_num_seqs=1024, blackwell=True), 83),
    ],
)
def test_ladder_length(arguments, count):
    sizes = default_capture_sizes(**arguments)
    assert len(sizes) == count
    assert sizes == sorted(set(sizes))
    assert all(type(size) is int for size in sizes)


@pytest.mark.parametrize(
    "max_num_seqs, sizes",
    [
        (256, LADDER_512),
        (1024, LADDER_512),
        (300, sorted([*LADDER_512, 300])),
        (20, [1, 2, 4, 8, 16, 20, 24, 32, 40]),
        (10, [1, 2, 4, 8, 10, 16]),
        (3, [1, 2, 3, 4]),
        (1, [1, 2]),
    ],
)
def test_ladder_sizes(max_num_seqs, sizes):
    assert default_capture_sizes(max_num_seqs) == sizes


def test_ladder_tops():
    assert default_capture_sizes(128)[-1] == 256
    hundred = default_capture_sizes(100)
    assert 100 in hundred and hundred[-1] == 200
    assert default_capture_sizes(max_num_batched_tokens=100)[-2:] == [96, 100]
    assert default_capture_sizes(1024, blackwell=True)[-1] == 1024
    assert default_capture_sizes(interactivity=True)[:33] == [*range(1, 33), 40]


def test_a_given_top_is_cut_to_the_rung_below_with_a_warning_that_names_both():
    with pytest.warns(UserWarning, match=r"100.*96"):
        sizes = default_capture_sizes(256, max_capture_size=100)
    assert len(sizes) == 15 and sizes[-1] == 96


@pytest.mark.parametrize("given, tokens, last", [(42, 8192, 40), (512, 100, 96), (1000, 512, 512), (3, 2, 2)])
def test_the_warning_names_what_was_given_also_where_the_tokens_cut_it(given, tokens, last):
    """As vLLM does: whoever asked for more than is captured is told, whatever the reason."""
    with pytest.warns(UserWarning, match=rf"max_capture_size={given} .*cut to {last},"):
        sizes = default_capture_sizes(max_num_batched_tokens=tokens, max_capture_size=given)
    assert sizes[-1] == last


def test_a_given_top_that_is_a_rung_is_kept_silently_and_alone():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # max_num_seqs gets no rung of its own when the top was given
        assert default_capture_sizes(20, max_capture_size=24) == [1, 2, 4, 8, 16, 24]
        assert default_capture_sizes(max_capture_size=768)[-1] == 768


def test_speculative_decoding_captures_whole_requests():
    # 3 tokens a request: 3 times each rung for 10 requests, 10 itself among them, besides the usual rungs
    assert default_capture_sizes(10, query_len=3) == sorted(
        {1, 2, 4, 8, 16, 24, 32, 40, 48, 56} | {3 * n for n in (1, 2, 4, 8, 10)}
    )
    # and none above the top, here 512 of the 17 * 64 tokens of the fullest batch
    assert default_capture_sizes(64, query_len=17)[-1] == 512
    assert {17 * n for n in (1, 2, 4, 8, 16, 24)} <= set(default_capture_sizes(64, query_len=17))
    assert 17 * 32 not in default_capture_sizes(64, query_len=17)


@pytest.mark.parametrize("name", ["max_num_seqs", "max_num_batched_tokens", "query_len", "max_capture_size"])
def test_ladder_refuses_numbers_below_one(name):
    with pytest.raises(ValueError, match=name):
        default_capture_sizes(**{name: 0})


@pytest.mark.parametrize("top, count", [(160, 24), (256, 36), (512, 52)])
def test_sglang_ladder(top, count):
    sizes = sglang_decode_sizes(top)
    assert len(sizes) == count and sizes[-1] == top
    assert sizes == sorted(set(sizes))


def test_sglang_ladder_keeps_an_odd_top_and_refuses_none():
    assert sglang_decode_sizes(3) == [1, 2, 3]
    assert sglang_decode_sizes(600)[-4:] == [512, 544, 576, 600]
    with pytest.raises(ValueError, match="top"):
        sglang_decode_sizes(0)


# --- padding --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bs, size", [(1, 1), (3, 4), (9, 16), (100, 104), (257, 272), (300, 304), (512, 512), (600, None)]
)
def test_pad_to(bs, size):
    assert pad_to(bs, LADDER_512) == size


def test_pad_to_corners():
    assert pad_to(5, []) is None
    assert pad_to(1, [7]) == 7
    with pytest.raises(ValueError, match="at least 1"):
        pad_to(0, [1, 2])


def test_expected_waste():
    assert expected_waste({3: 1}, [4]) == 1
    assert expected_waste({3: 1, 9: 3}, [4, 16]) == pytest.approx((1 + 3 * 7) / 4)
    # a batch without a graph wastes nothing, and is a step all the same
    assert expected_waste({3: 1, 600: 1}, [4]) == 0.5
    assert expected_waste({}, [4]) == 0
    assert expected_waste({3: 0}, [4]) == 0
    with pytest.raises(ValueError, match="negative"):
        expected_waste({3: -1}, [4])


@pytest.mark.parametrize(
    "interactivity, rows, share_per_step, share_of_rows",
    [(False, 5.46, 3.28, 2.08), (True, 5.28, 2.34, 2.02)],
)
def test_the_three_means(interactivity, rows, share_per_step, share_of_rows):
    sizes = default_capture_sizes(interactivity=interactivity)
    stats = padding_stats(EVERY_BATCH, sizes)
    assert round(stats.rows_per_step, 2) == rows
    assert round(100 * stats.share_per_step, 2) == share_per_step
    assert round(100 * stats.share_of_rows, 2) == share_of_rows
    assert stats.rows_per_step == pytest.approx(expected_waste(EVERY_BATCH, sizes), abs=1e-9)


def test_stats_weigh_counts_and_leave_large_batches_unpadded():
    stats = padding_stats({3: 3, 10: 1}, [4])
    assert stats == PaddingStats(3 / 4, 3 / 4 / 4, 3 / (12 + 10))
    assert padding_stats({3: 0}, [4]) == PaddingStats(0.0, 0.0, 0.0)


# --- the best sizes -------------------------------------------------------------------------------


def by_enumeration(dist, max_bs, k):
    """All choices in lexicographic order; min keeps the first of equals."""
    choices = [(*rest, max_bs) for rest in combinations(range(1, max_bs), k - 1)]

    def padded_rows(sizes):
        return sum(n * (min(s for s in sizes if s >= bs) - bs) for bs, n in dist.items() if bs <= max_bs)

    return list(min(choices, key=padded_rows))


def test_best_sizes_of_the_book():
    assert best_sizes({1: 10, 2: 5, 3: 30, 7: 25, 8: 5}, 8, 3) == [3, 7, 8]


def test_best_sizes_equals_enumeration():
    rng = random.Random(133)
    for _ in range(400):
        max_bs = rng.randint(1, 9)
        k = rng.randint(1, max_bs)
        # few different counts, zeros among them, so that ties are common; some batches above max_bs
        batches = rng.sample(range(1, max_bs + 4), rng.randint(0, max_bs))
        dist = {bs: rng.choice([0, 1, 1, 2, 7]) for bs in batches}
        before = dict(dist)
        assert best_sizes(dist, max_bs, k) == by_enumeration(dist, max_bs, k), (dist, max_bs, k)
        assert dist == before


def test_ties_go_to_the_lexicographically_smallest():
    assert best_sizes({}, 6, 3) == [1, 2, 6]
    assert best_sizes({600: 5}, 4, 2) == [1, 4]
    assert best_sizes({5: 1}, 5, 5) == [1, 2, 3, 4, 5]


def test_ties_are_exact():
    # as probabilities these counts do not add up exactly; as whole numbers they tie
    dist = {1: 1, 2: 1, 3: 1, 4: 1, 5: 1, 6: 1, 7: 1, 10: 10**17}
    assert best_sizes(dist, 10, 3) == by_enumeration(dist, 10, 3)


def test_the_largest_problem_takes_seconds_not_hours():
    rng = random.Random(0)
    dist = {bs: rng.randint(0, 1000) for bs in range(1, 300)}
    sizes = best_sizes(dist, 256, 20)
    assert len(sizes) == len(set(sizes)) == 20 and sizes == sorted(sizes) and sizes[-1] == 256
    in_range = {bs: n for bs, n in dist.items() if bs <= 256}
    even = [round(256 * (i + 1) / 20) for i in range(20)]
    assert expected_waste(in_range, sizes) <= expected_waste(in_range, even)


@pytest.mark.parametrize("k", [0, 9, -1])
def test_best_sizes_refuses_an_impossible_k(k):
    with pytest.raises(ValueError, match="k must be"):
        best_sizes({1: 1}, 8, k)
