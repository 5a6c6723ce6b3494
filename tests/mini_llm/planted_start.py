"""Faults of what is decided and compiled at start-up, put back in one at a time. Adds to `planted_faults.FAULTS`."""

import logging
from dataclasses import replace

import test_dispatch
import test_fusion
from planted_faults import fault

from mini_llm import buckets, dispatch, fusion
from mini_llm.compile_cache import CompileKey
from mini_llm.dispatch import AttentionCGSupport, CudagraphDispatcher, CUDAGraphMode
from mini_llm.fusion import Version


def no_length_is_compiled_for(device):
    test_fusion.test_three_pieces_in_two_versions_and_then_never_again(layers=2, fusions=False)


@fault("nano-vllm 105: every length is compiled for", no_length_is_compiled_for)
def _(monkeypatch):
    monkeypatch.setattr(fusion, "versions", lambda *args: [Version(n, n) for n in range(1, 49)])


def each_field_is_in_the_key(device):
    test_fusion.test_each_field_changes_the_key(test_fusion.sharp_model())


@fault("vllm 53366: a setting is missing from the key of the cache", each_field_is_in_the_key)
def _(monkeypatch):
    whole = CompileKey.digest
    monkeypatch.setattr(CompileKey, "digest", lambda self: whole(replace(self, max_num_batched_tokens=0)))


@fault("vllm 16150: the model is missing from the key of the cache", each_field_is_in_the_key)
def _(monkeypatch):
    whole = CompileKey.digest
    monkeypatch.setattr(CompileKey, "digest", lambda self: whole(replace(self, model=test_fusion.QWEN3)))


def a_downgrade_is_logged(device):
    seen, handler = [], logging.Handler()
    handler.emit = seen.append
    dispatch.logger.addHandler(handler)
    try:
        dispatch.resolve_cudagraph_mode(CUDAGraphMode.FULL, AttentionCGSupport.UNIFORM_BATCH)
    finally:
        dispatch.logger.removeHandler(handler)
    assert seen


@fault("vllm 49547: a silent downgrade", a_downgrade_is_logged)
def _(monkeypatch):
    monkeypatch.setattr(dispatch.logger, "warning", lambda *args: None)


def pieces_are_not_promised(device):
    test_dispatch.test_vllm_30072_pieces_that_were_never_compiled_are_not_promised()


@fault("vllm 30072: piecewise is promised, and nothing was split", pieces_are_not_promised)
def _(monkeypatch):
    monkeypatch.setattr(CUDAGraphMode, "requires_piecewise_compilation", lambda self: False)


def the_fullest_batch_has_a_graph(device):
    sizes = buckets.default_capture_sizes(max_num_seqs=100)
    mode, _ = CudagraphDispatcher(CUDAGraphMode.FULL_DECODE_ONLY, sizes, 100).dispatch(100, uniform=True)
    assert mode is CUDAGraphMode.FULL


@fault("vllm 16049: the fullest batch is off the stride and runs eager", the_fullest_batch_has_a_graph)
def _(monkeypatch):
    whole = buckets.default_capture_sizes
    monkeypatch.setattr(buckets, "default_capture_sizes", lambda **k: [n for n in whole(**k) if n < 8 or n % 8 == 0])
