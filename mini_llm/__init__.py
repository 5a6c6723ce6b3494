"""A small inference engine, read and grown chapter by chapter.

Names are imported when first used, so `import mini_llm.buckets` never imports torch.
"""

from importlib import import_module

# name -> the module that holds it. No name may equal a module's: importing the module would hide it.
_HOMES = {
    "Config": "config",
    "RMSNorm": "layers",
    "rope_cos_sin": "layers",
    "apply_rope": "layers",
    "KVCache": "cache",
    "Transformer": "model",
    "generate": "generation",
    "stream": "generation",
    "argmax": "generation",
    "sampler": "generation",
    "count_operators": "launches",
    "default_capture_sizes": "buckets",
    "pad_to": "buckets",
    "expected_waste": "buckets",
    "best_sizes": "buckets",
    "BlockPool": "paged",
    "PagedKVCache": "paged",
    "slot_mapping_for": "paged",
    "paged_attention": "paged",
    "BatchInput": "batch",
    "build_batch": "batch",
    "ModelRunner": "runner",
    "CUDAGraphMode": "dispatch",
    "AttentionCGSupport": "dispatch",
    "resolve_cudagraph_mode": "dispatch",
    "BatchDescriptor": "dispatch",
    "CudagraphDispatcher": "dispatch",
    "capture": "graphs",
    "Graph": "graphs",
    "CapturedStep": "graphs",
    "CaptureError": "capture_rules",
    "opaque": "tape",
    "BucketRunner": "bucket_runner",
    "SamplingParams": "sampling",
    "LLM": "engine",
    "split_at": "piecewise",
    "PiecewiseRunner": "piecewise",
    "compile_step": "fusion",
}
__all__ = sorted(_HOMES)


def __getattr__(name):
    # Looked up every time and never kept here: a piece that grows in a notebook is seen at once.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__():
    return sorted({*globals(), *__all__})
