"""Modes, what a backend supports, graph keys, optimisation levels: the tables, and what is said in the log."""

import itertools
import logging
import subprocess
import sys
from pathlib import Path

import pytest

from mini_llm.buckets import default_capture_sizes
from mini_llm.dispatch import (
    AttentionCGSupport,
    BatchDescriptor,
    CudagraphDispatcher,
    CUDAGraphMode,
    OptimizationLevel,
    read_log,
    resolve_cudagraph_mode,
    resolve_optimization,
)

NONE, PIECEWISE, FULL = CUDAGraphMode.NONE, CUDAGraphMode.PIECEWISE, CUDAGraphMode.FULL
DECODE_ONLY, PAIR = CUDAGraphMode.FULL_DECODE_ONLY, CUDAGraphMode.FULL_AND_PIECEWISE
NEVER, SINGLE, UNIFORM, ALWAYS = AttentionCGSupport
LADDER = default_capture_sizes()
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def log(caplog):
    caplog.set_level(logging.INFO, logger="mini_llm")
    return caplog


def test_importing_dispatch_imports_no_torch():
    code = "import sys, mini_llm.dispatch; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


# --- modes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "mode, value, decode, mixed, needs_pieces, without",
    [
        (NONE, 0, NONE, NONE, False, NONE),
        (PIECEWISE, 1, PIECEWISE, PIECEWISE, True, NONE),
        (FULL, 2, FULL, FULL, False, FULL),
        (DECODE_ONLY, (2, 0), FULL, NONE, False, DECODE_ONLY),
        (PAIR, (2, 1), FULL, PIECEWISE, True, DECODE_ONLY),
    ],
)
def test_the_table_of_modes(mode, value, decode, mixed, needs_pieces, without):
    assert mode.value == value and bool(mode) is (mode is not NONE)
    assert mode.decode_mode() is decode and mode.mixed_mode() is mixed
    assert mode.requires_piecewise_compilation() is needs_pieces
    assert mode.without_piecewise() is without
    assert mode.is_valid_runtime_mode() is isinstance(value, int)


def test_there_are_five_modes_and_four_kinds_of_support():
    assert len(CUDAGraphMode) == 5
    assert [(each.name, each.value) for each in AttentionCGSupport] == [
        ("NEVER", 0),
        ("UNIFORM_SINGLE_TOKEN_DECODE", 1),
        ("UNIFORM_BATCH", 2),
        ("ALWAYS", 3),
    ]


# --- what a backend allows ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "mode, support, options, result",
    [
        # 1: one graph for mixed batches
        (FULL, ALWAYS, {}, FULL),
        (FULL, UNIFORM, {}, PAIR),
        (FULL, SINGLE, {}, PAIR),
        (FULL, UNIFORM, {"attention_splits": False}, DECODE_ONLY),
        (FULL, UNIFORM, {"attention_splits": False, "piecewise_compiled": False}, DECODE_ONLY),
        # 2: a backend that is never captured
        (DECODE_ONLY, NEVER, {}, PIECEWISE),
        (PAIR, NEVER, {}, PIECEWISE),
        (DECODE_ONLY, NEVER, {"piecewise_compiled": False}, NONE),
        (PAIR, NEVER, {"piecewise_compiled": False}, NONE),
        # 3: several tokens per request
        (PAIR, SINGLE, {}, PAIR),
        (PAIR, SINGLE, {"query_len": 2}, PIECEWISE),
        (DECODE_ONLY, SINGLE, {"query_len": 4}, PIECEWISE),
        (DECODE_ONLY, SINGLE, {"query_len": 2, "piecewise_compiled": False}, NONE),
        (PAIR, UNIFORM, {"query_len": 4}, PAIR),
        (FULL, ALWAYS, {"query_len": 4}, FULL),
        # 1, then 3: the pair that FULL became is taken apart again
        (FULL, SINGLE, {"query_len": 2}, PIECEWISE),
        (FULL, SINGLE, {"query_len": 2, "attention_splits": False, "piecewise_compiled": False}, NONE),
        # 4: nothing was split into pieces
        (PIECEWISE, ALWAYS, {"piecewise_compiled": False}, NONE),
        (PAIR, ALWAYS, {"piecewise_compiled": False}, DECODE_ONLY),
        (FULL, UNIFORM, {"piecewise_compiled": False}, DECODE_ONLY),
        # nothing to resolve
        (NONE, NEVER, {}, NONE),
        (PIECEWISE, NEVER, {}, PIECEWISE),
        (PIECEWISE, NEVER, {"query_len": 4}, PIECEWISE),
    ],
)
def test_resolved_modes(mode, support, options, result):
    assert resolve_cudagraph_mode(mode, support, **options) is result


def test_full_with_a_backend_that_is_never_captured_is_an_error():
    for options in ({}, {"query_len": 2}, {"piecewise_compiled": False}, {"attention_splits": False}):
        with pytest.raises(ValueError, match="FULL needs an attention backend that can be captured"):
            resolve_cudagraph_mode(FULL, NEVER, **options)


def every_resolution():
    flags = itertools.product(CUDAGraphMode, AttentionCGSupport, (1, 3), (True, False), (True, False))
    for mode, support, query_len, compiled, splits in flags:
        if (mode, support) != (FULL, NEVER):
            options = dict(query_len=query_len, piecewise_compiled=compiled, attention_splits=splits)
            yield mode, support, options


def test_whatever_is_resolved_can_run_and_stays_when_it_is_resolved_again():
    for mode, support, options in every_resolution():
        result = resolve_cudagraph_mode(mode, support, **options)
        assert resolve_cudagraph_mode(result, support, **options) is result
        assert options["piecewise_compiled"] or not result.requires_piecewise_compilation()
        assert support is ALWAYS or result.mixed_mode() is not FULL
        needed = UNIFORM if options["query_len"] > 1 else SINGLE
        assert support >= needed or result.decode_mode() is not FULL


def test_vllm_49547_no_downgrade_is_silent(log):
    for mode, support, options in every_resolution():
        log.clear()
        result = resolve_cudagraph_mode(mode, support, **options)
        assert bool(log.messages) is (result is not mode)
        if log.messages:  # each change follows from the one before, and the last one is the result
            assert f"{mode.name} becomes" in log.messages[0]
            assert f"becomes {result.name}: " in log.messages[-1]


def test_each_reason_is_named(log):
    resolve_cudagraph_mode(FULL, UNIFORM)
    resolve_cudagraph_mode(PAIR, NEVER)
    resolve_cudagraph_mode(PAIR, SINGLE, query_len=3)
    resolve_cudagraph_mode(PAIR, ALWAYS, piecewise_compiled=False)
    mixed, never, several, pieces = log.messages
    assert "UNIFORM_BATCH batches only, not mixed ones" in mixed
    assert "can never be captured" in never
    assert "cannot capture 3 tokens per request" in several
    assert "not compiled piecewise" in pieces


def test_vllm_30072_pieces_that_were_never_compiled_are_not_promised():
    assert resolve_cudagraph_mode(PIECEWISE, ALWAYS, piecewise_compiled=False) is NONE


# --- keys and dispatch ----------------------------------------------------------------------------


def test_descriptors_are_keys():
    one, same = BatchDescriptor(4, 4, True), BatchDescriptor(4, num_reqs=4, uniform=True)
    assert one == same and len({one, same}) == 1
    assert one.relaxed() == BatchDescriptor(4)
    assert BatchDescriptor(4, 2, True, has_lora=True).relaxed() == BatchDescriptor(4, has_lora=True)


@pytest.mark.parametrize("field", [{"num_tokens": 8}, {"num_reqs": 2}, {"uniform": False}, {"has_lora": True}])
def test_vllm_53366_and_16150_every_field_is_part_of_the_key(field):
    fields = dict(num_tokens=4, num_reqs=4, uniform=True, has_lora=False)
    assert BatchDescriptor(**fields) != BatchDescriptor(**(fields | field))


def decode(size, query_len=1):
    return FULL, BatchDescriptor(size, size // query_len, uniform=True)


@pytest.mark.parametrize(
    "num_tokens, uniform, expected",
    [
        (1, True, decode(1)),
        (3, True, decode(4)),
        (100, True, decode(104)),
        (256, True, decode(256)),
        (9, False, (PIECEWISE, BatchDescriptor(16))),
        (257, False, (PIECEWISE, BatchDescriptor(272))),
        (512, False, (PIECEWISE, BatchDescriptor(512))),
        (513, False, (NONE, BatchDescriptor(513))),
        # more requests than there may be: no full graph, though the batch is uniform
        (257, True, (PIECEWISE, BatchDescriptor(272))),
        (600, True, (NONE, BatchDescriptor(600))),
    ],
)
def test_dispatch_in_full_and_piecewise(num_tokens, uniform, expected):
    assert CudagraphDispatcher(PAIR, LADDER, 256).dispatch(num_tokens, uniform) == expected


@pytest.mark.parametrize(
    "mode, uniform, mixed",
    [
        (NONE, (NONE, BatchDescriptor(3)), (NONE, BatchDescriptor(3))),
        (PIECEWISE, (PIECEWISE, BatchDescriptor(4)), (PIECEWISE, BatchDescriptor(4))),
        (FULL, (FULL, BatchDescriptor(4)), (FULL, BatchDescriptor(4))),
        (DECODE_ONLY, decode(4), (NONE, BatchDescriptor(3))),
        (PAIR, decode(4), (PIECEWISE, BatchDescriptor(4))),
    ],
)
def test_dispatch_in_every_mode(mode, uniform, mixed):
    dispatcher = CudagraphDispatcher(mode, LADDER, 256)
    assert dispatcher.dispatch(3, uniform=True) == uniform
    assert dispatcher.dispatch(3) == mixed
    assert dispatcher.dispatch(3)[0].is_valid_runtime_mode()


def test_how_many_graphs_there_are():
    def counts(*args):
        keys = CudagraphDispatcher(*args).keys
        return len(keys[PIECEWISE]), len(keys[FULL])

    assert counts(PAIR, LADDER, 256) == (51, 35)
    assert counts(PIECEWISE, LADDER, 256) == (51, 0)
    assert counts(FULL, LADDER, 256) == (0, 51)
    assert counts(DECODE_ONLY, LADDER, 256) == (0, 35)
    assert counts(PAIR, default_capture_sizes(100), 100) == (29, 16)  # 1 2 4, 8 to 96 by 8, 100
    assert counts(NONE, LADDER, 256) == counts(PAIR, [], 256) == (0, 0)


def test_nothing_captured_runs_everything_eagerly():
    assert CudagraphDispatcher(PAIR, [], 256).dispatch(1, uniform=True) == (NONE, BatchDescriptor(1))


def test_several_tokens_per_request_fill_whole_requests():
    sizes = default_capture_sizes(max_num_seqs=8, query_len=3)
    dispatcher = CudagraphDispatcher(PAIR, sizes, 8, query_len=3)
    for requests in range(1, 9):
        mode, key = dispatcher.dispatch(3 * requests, uniform=True)
        assert mode is FULL and key.uniform
        assert key.num_tokens == 3 * key.num_reqs and requests <= key.num_reqs <= 8
    # 16 is on the ladder, and holds no whole number of requests
    assert 16 in sizes and dispatcher.dispatch(15, uniform=True) == decode(24, 3)
    assert dispatcher.dispatch(15) == (PIECEWISE, BatchDescriptor(16))
    assert min(key.num_tokens for key in dispatcher.keys[FULL]) == 3
    assert max(key.num_tokens for key in dispatcher.keys[FULL]) == 24


def test_torchtitan_3685_a_mixed_batch_never_gets_a_uniform_graph():
    dispatcher = CudagraphDispatcher(PAIR, LADDER, 256)
    for n in range(1, 600):
        mode, key = dispatcher.dispatch(n, uniform=False)
        assert mode is not FULL and not key.uniform


def test_nano_vllm_216_and_vllm_7999_every_batch_has_an_answer():
    """A batch without a bucket runs eagerly: no StopIteration, no crash."""
    for sizes in ([], [1], [5], LADDER[:3]):
        dispatcher = CudagraphDispatcher(PAIR, sizes, 4)
        for n in (*range(1, 12), 10_000):
            mode, key = dispatcher.dispatch(n, uniform=n % 2 == 0)
            assert key.num_tokens >= n and (mode is NONE) == (n > max(sizes, default=0))
            assert mode is not NONE or key == BatchDescriptor(n)


def test_vllm_54933_and_40734_a_top_of_ones_own_is_a_size_like_any_other():
    dispatcher = CudagraphDispatcher(PAIR, [1, 2, 4, 8, 16, 24, 32, 40, 42], 64)
    assert dispatcher.dispatch(41, uniform=True) == decode(42)
    assert dispatcher.dispatch(42) == (PIECEWISE, BatchDescriptor(42))


def test_a_batch_with_lora_never_gets_a_graph_captured_without():
    dispatcher = CudagraphDispatcher(PAIR, LADDER, 256)
    assert dispatcher.dispatch(3, uniform=True, has_lora=True) == (NONE, BatchDescriptor(3, has_lora=True))
    dispatcher.keys[PIECEWISE].add(BatchDescriptor(4, has_lora=True))
    expected = PIECEWISE, BatchDescriptor(4, has_lora=True)
    assert dispatcher.dispatch(3, uniform=True, has_lora=True) == expected


def test_a_batch_has_a_token():
    for mode in (NONE, PAIR):
        with pytest.raises(ValueError, match="at least 1"):
            CudagraphDispatcher(mode, LADDER, 256).dispatch(0)


def test_sizes_may_come_in_any_order_and_twice():
    dispatcher = CudagraphDispatcher(PAIR, [8, 4, 2, 2], 256)
    assert dispatcher.dispatch(3) == (PIECEWISE, BatchDescriptor(4))


def test_capture_goes_from_pieces_to_full_graphs_and_from_large_to_small():
    order = CudagraphDispatcher(PAIR, LADDER, 256).capture_order()
    assert len(order) == 51 + 35
    assert [mode for mode, _ in order] == [PIECEWISE] * 51 + [FULL] * 35
    assert [key.num_tokens for _, key in order[:51]] == LADDER[::-1]
    assert [key.num_tokens for _, key in order[51:]] == [size for size in LADDER[::-1] if size <= 256]
    assert CudagraphDispatcher(NONE, LADDER, 256).capture_order() == []


# --- start-up logs --------------------------------------------------------------------------------


def as_text(log):
    return "\n".join(f"10:21:07 {r.levelname} {r.name}: {r.getMessage()}" for r in log.records)


def test_what_an_engine_logs_can_be_read(log):
    from mini_llm.engine import LLM

    LLM.plan("cpu", attention="sdpa", cudagraph_mode="FULL")
    decode, mixed, reasons = read_log(as_text(log))
    assert (decode, mixed) == ("FULL", "PIECEWISE") and "UNIFORM_BATCH" in reasons[0]
    log.clear()
    LLM.plan("cpu", attention="reference", cudagraph_mode="FULL_DECODE_ONLY", query_len=2)
    decode, mixed, reasons = read_log(as_text(log))
    assert (decode, mixed, len(reasons)) == ("PIECEWISE", "PIECEWISE", 1) and "never" in reasons[0]


def test_a_log_with_other_text_in_it_can_be_read():
    lines = ["Traceback (most recent call last):", "", "1 INFO a: cudagraph_mode FULL is asked for", "1 ERROR a: no: b"]
    assert read_log("\n".join(lines)) == (None, None, ["no: b"])
    assert read_log("\n".join(lines[:3])) == ("FULL", "FULL", []) and read_log("") == ("NONE", "NONE", [])


# --- optimisation levels --------------------------------------------------------------------------


def resolved(*args, **options):
    config = resolve_optimization(*args, **options)
    return config.compile, config.fusions, config.cudagraph_mode, list(config.capture_sizes)


def test_the_levels():
    assert resolved(0) == (False, False, NONE, [])
    assert resolved(1) == (True, False, PIECEWISE, LADDER)
    assert resolved(2) == resolved(3) == resolved() == (True, True, PAIR, LADDER)
    assert resolved(OptimizationLevel.O1) == resolved(1)
    with pytest.raises(ValueError, match="4 is not a valid OptimizationLevel"):
        resolve_optimization(4)


def test_a_flag_that_is_given_overrides_the_level():
    assert resolved(0, compile=True) == (True, False, NONE, [])
    assert resolved(0, cudagraph_mode=DECODE_ONLY) == (False, False, DECODE_ONLY, LADDER)
    assert resolved(1, fusions=True) == (True, True, PIECEWISE, LADDER)
    assert resolved(2, compile=False) == (False, False, PAIR, LADDER)
    assert resolved(2, fusions=False) == (True, False, PAIR, LADDER)
    assert resolved(2, cudagraph_mode=NONE) == (True, True, NONE, [])
    assert resolved(2, capture_sizes=[8, 4, 8]) == (True, True, PAIR, [4, 8])


def test_the_ladder_follows_the_three_numbers():
    numbers = dict(max_num_seqs=20, max_num_batched_tokens=100, query_len=3)
    assert resolved(2, **numbers)[3] == default_capture_sizes(20, 100, 3)


def test_enforce_eager_is_the_last_word(log):
    nothing = (False, False, NONE, [])
    assert all(resolved(level, enforce_eager=True) == nothing for level in range(4)) and not log.messages
    flags = dict(compile=True, fusions=True, cudagraph_mode=FULL, capture_sizes=[1, 2])
    assert resolved(2, enforce_eager=True, **flags) == nothing
    assert "compile, fusions, cudagraph_mode, capture_sizes given as well and ignored" in log.text
    # flags that say the same contradict nothing
    log.clear()
    agreeing = dict(compile=False, fusions=False, cudagraph_mode=NONE, capture_sizes=[])
    assert resolved(2, enforce_eager=True, **agreeing) == nothing and not log.messages


def test_tensorrt_llm_10688_no_size_is_larger_than_the_buffers(log):
    assert resolved(2, capture_sizes=[1, 64, 65, 128], max_num_batched_tokens=64)[3] == [1, 64]
    assert "[65, 128] dropped" in log.text and "max_num_batched_tokens=64" in log.text


def test_no_sizes_no_graphs_and_the_log_says_so(log):
    assert resolved(2, capture_sizes=[]) == (True, True, NONE, [])
    assert "FULL_AND_PIECEWISE becomes NONE: there are no capture sizes" in log.text


def test_what_cannot_be_is_refused_or_said(log):
    with pytest.raises(ValueError, match="at least 1 token, not 0"):
        resolve_optimization(capture_sizes=[0, 4])
    assert resolved(0, fusions=True) == (False, False, NONE, [])
    assert "fusions are off" in log.text
