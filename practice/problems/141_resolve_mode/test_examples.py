"""The examples of the statement."""

import oracle

ASKED = "10:21:07 INFO engine: cudagraph_mode {} is asked for\n"
FACTS = "10:21:07 INFO engine: attention captures {}, query_len {}, compiled in pieces: {}, split at attention: {}\n"
CHANGED = "10:21:07 WARNING dispatch: cudagraph_mode {} becomes {}: {}"
SINGLE = "UNIFORM_SINGLE_TOKEN_DECODE"
LOGS = (
    ASKED.format("FULL_AND_PIECEWISE")
    + FACTS.format("ALWAYS", 1, "yes", "yes")
    + "10:21:16 INFO engine: engine ready in 9.3 s",
    ASKED.format("FULL")
    + FACTS.format("UNIFORM_BATCH", 1, "yes", "yes")
    + CHANGED.format("FULL", "FULL_AND_PIECEWISE", "UNIFORM_BATCH excludes mixed batches"),
    ASKED.format("FULL_AND_PIECEWISE")
    + FACTS.format("UNIFORM_BATCH", 1, "no", "yes")
    + CHANGED.format("FULL_AND_PIECEWISE", "FULL_DECODE_ONLY", "not compiled in pieces"),
    ASKED.format("FULL_AND_PIECEWISE")
    + FACTS.format("NEVER", 1, "yes", "yes")
    + CHANGED.format("FULL_AND_PIECEWISE", "PIECEWISE", "attention can never be captured"),
    ASKED.format("FULL")
    + FACTS.format(SINGLE, 3, "no", "no")
    + CHANGED.format("FULL", "FULL_DECODE_ONLY", f"{SINGLE} excludes mixed batches\n")
    + CHANGED.format("FULL_DECODE_ONLY", "NONE", "3 tokens per request cannot be captured"),
    ASKED.format("FULL")
    + FACTS.format("NEVER", 1, "yes", "yes")
    + "10:21:07 ERROR engine: FULL needs attention that can be captured, and this one never can: use PIECEWISE",
)


def test_read_log_six_logs(check):
    """The six logs of the statement."""
    check.each("read_log", [(log,) for log in LOGS], oracle.read_log)


def test_resolve_cudagraph_mode_six_logs(check):
    """The rule answers what the six logs of the statement say."""
    cases = [
        ("FULL_AND_PIECEWISE", "ALWAYS"),
        ("FULL", "UNIFORM_BATCH"),
        ("FULL_AND_PIECEWISE", "UNIFORM_BATCH", check.keywords(piecewise_compiled=False)),
        ("FULL_AND_PIECEWISE", "NEVER"),
        ("FULL", SINGLE, check.keywords(query_len=3, piecewise_compiled=False, attention_splits=False)),
        ("FULL", "NEVER"),
    ]
    check.each("resolve", cases, oracle.resolve, scene=True)
