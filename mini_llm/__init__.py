"""A small inference engine, read and grown chapter by chapter.

Names are imported when first used, so `import mini_llm.buckets` never imports torch.
"""

from importlib import import_module

# module -> the names it holds. No name may equal a module's: importing the module would hide it.
_HOLDS = {
    "config": "Config",
    "layers": "RMSNorm rope_cos_sin apply_rope",
    "cache": "KVCache",
    "model": "Transformer",
    "generation": "generate stream argmax sampler",
    "launches": "count_operators",
    "buckets": "default_capture_sizes pad_to expected_waste best_sizes",
    "paged": "BlockPool PagedKVCache slot_mapping_for paged_attention",
    "batch": "BatchInput build_batch",
    "runner": "ModelRunner",
    "dispatch": "CUDAGraphMode AttentionCGSupport resolve_cudagraph_mode BatchDescriptor CudagraphDispatcher",
    "graphs": "capture Graph CapturedStep",
    "capture_rules": "CaptureError",
    "tape": "opaque",
    "bucket_runner": "BucketRunner",
    "sampling": "SamplingParams",
    "engine": "LLM",
    "piecewise": "split_at PiecewiseRunner",
    "fusion": "compile_step",
}
_HOMES = {name: module for module, names in _HOLDS.items() for name in names.split()}
__all__ = sorted(_HOMES)


def __getattr__(name):
    # Looked up every time and never kept here: a piece that grows in a notebook is seen at once.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__():
    return sorted({*globals(), *__all__})
