import logging

from mini_llm.dispatch import AttentionCGSupport as Support
from mini_llm.dispatch import CUDAGraphMode as Mode

BATCHES = {
    "NONE": ("NONE", "NONE"),
    "PIECEWISE": ("PIECEWISE", "PIECEWISE"),
    "FULL": ("FULL", "FULL"),
    "FULL_DECODE_ONLY": ("FULL", "NONE"),
    "FULL_AND_PIECEWISE": ("FULL", "PIECEWISE"),
}


def read_log(text):
    decode = mixed = None
    why = []
    for line in text.split("\n"):
        head, message = line.split(": ", 1)
        words = message.split()
        if " ERROR " in head:
            why.append(message)
            decode = mixed = None
        elif words[0] == "cudagraph_mode" and "becomes" in words[2]:
            decode, mixed = BATCHES[words[3].rstrip(":")]
            why.append(message.split(": ", 1)[1])
        elif words[0] == "cudagraph_mode":
            decode, mixed = BATCHES[words[1]]
    return decode, mixed, why


def resolve_cudagraph_mode(mode, support, *, query_len=1, piecewise_compiled=True, attention_splits=True):
    log = logging.getLogger("server")
    now = mode

    def becomes(new, why):
        nonlocal now
        log.warning(f"cudagraph_mode {now.name} becomes {new.name}: {why}")
        now = new

    if now == Mode.FULL and support == Support.NEVER:
        raise ValueError("no graphs at all with this backend: choose PIECEWISE")
    if now == Mode.FULL and support != Support.ALWAYS:
        becomes(Mode.FULL_AND_PIECEWISE if attention_splits else Mode.FULL_DECODE_ONLY, f"only {support.name}")
    if BATCHES[now.name][0] == "FULL":
        if support == Support.NEVER:
            becomes(Mode.PIECEWISE, "Never captured")
        elif query_len >= 2 and support == Support.UNIFORM_SINGLE_TOKEN_DECODE:
            becomes(Mode.PIECEWISE, f"{query_len} tokens each")
    if "PIECEWISE" in BATCHES[now.name] and not piecewise_compiled:  # PIECEWISE of rule 2 or 3 too: two lines, one end
        becomes(Mode.FULL_DECODE_ONLY if BATCHES[now.name][0] == "FULL" else Mode.NONE, "not compiled")
    return now
