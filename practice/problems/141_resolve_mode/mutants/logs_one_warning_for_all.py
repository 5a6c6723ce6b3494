# verdict: wrong answer
# diagnosis: all changes were put into one warning: each rule logs its own, with the mode that it left
import logging as _logging


def resolve_cudagraph_mode(mode, support, *, query_len=1, piecewise_compiled=True, attention_splits=True):
    Mode, Support, asked, reasons = CUDAGraphMode, AttentionCGSupport, mode, []

    def change(to, reason):
        reasons.append(reason)
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
        mode = change(mode.without_piecewise(), "nothing was compiled in pieces")
    if reasons:
        _logging.warning("cudagraph_mode %s becomes %s: %s", asked.name, mode.name, ", ".join(reasons))
    return mode
