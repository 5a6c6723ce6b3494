# verdict: wrong answer
# diagnosis: rule 4 changed the mode rightly, and logged nothing: each change needs its own warning
import logging as _logging


def resolve_cudagraph_mode(mode, support, *, query_len=1, piecewise_compiled=True, attention_splits=True):
    Mode, Support = CUDAGraphMode, AttentionCGSupport

    def change(to, reason):
        if to is not mode:
            _logging.warning("cudagraph_mode %s becomes %s: %s", mode.name, to.name, reason)
        return to

    if mode.mixed_mode() is Mode.FULL and support < Support.ALWAYS:
        if support is Support.NEVER:
            raise ValueError("FULL needs a backend that can be captured: use PIECEWISE")
        pair = Mode.FULL_AND_PIECEWISE if attention_splits else Mode.FULL_DECODE_ONLY
        mode = change(pair, f"the backend captures {support.name} only")
    left = Mode.PIECEWISE if piecewise_compiled else Mode.NONE
    if mode.decode_mode() is Mode.FULL and support is Support.NEVER:
        mode = change(left, "the backend can never be captured")
    if mode.decode_mode() is Mode.FULL and query_len > 1 and support < Support.UNIFORM_BATCH:
        mode = change(left, f"the backend cannot capture {query_len} tokens per request")
    if mode.requires_piecewise_compilation() and not piecewise_compiled:
        mode = mode.without_piecewise()
    return mode
