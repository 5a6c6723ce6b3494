"""Hidden tests of problem 141. Inputs are drawn for each run; the docstrings are shown to the learner.

`resolve` and `warnings_of` are scene functions: enums cannot cross to the judge, their names can. `controls` are there
because the mode that came in, handed back, is the right answer of many calls.
"""

import itertools

import oracle

MODES = tuple(oracle.PAIRS)
SUPPORT = oracle.SUPPORT
NOISE = (
    "INFO weights: 311 tensors read in {n}.4 s",
    "WARNING engine: kv_cache_dtype auto becomes bfloat16: the weights have it",
    "WARNING dispatch: an old setting names cudagraph_mode {mode}",
    "WARNING buckets: max_capture_size={n} is no rung of the ladder: cut to {m}",
    "INFO executor: {n} PIECEWISE and {m} FULL sizes captured in 0.82 s; their graphs hold 0.94 GiB",
    "INFO weights: log level {n}, ERROR lines so far: 0",
    "INFO bench: the run before used cudagraph_mode {mode}",
    "INFO bench: a profile is asked for",
    "INFO bench: the run before said cudagraph_mode FULL becomes {mode}: no memory",
    "WARNING bench: the run before ended with ERROR engine: no memory for {n} graphs",
)
REASONS = (
    "{support} excludes mixed batches",
    "attention can never be captured",
    "{n} tokens per request cannot be captured",
    "not compiled in pieces",
    "there are no capture sizes",
    "by the rules of this server: no graph that holds {m} GiB becomes useful",
)


def filled(rng, text):
    numbers = {"n": rng.randint(2, 60), "m": rng.randint(2, 60)}
    return text.format(mode=rng.choice(MODES), support=rng.choice(SUPPORT), **numbers)


def log(rng, changes, error=False, noise=2):
    """A start-up log that asks for a mode, then changes it so often, then may fail."""
    modes = rng.sample(MODES, changes + 1)
    support, yes = rng.choice(SUPPORT), ("yes", "no")
    lines = [
        f"INFO engine: cudagraph_mode {modes[0]} is asked for",
        f"INFO engine: attention captures {support}, query_len {rng.randint(1, 6)}, "
        f"compiled in pieces: {rng.choice(yes)}, split at attention: {rng.choice(yes)}",
    ]
    for old, new in itertools.pairwise(modes):
        lines.append(f"WARNING dispatch: cudagraph_mode {old} becomes {new}: {filled(rng, rng.choice(REASONS))}")
    if error:
        text = "{mode} needs attention that can be captured, and this one never can: use PIECEWISE"
        lines.append(f"ERROR engine: {filled(rng, text)}")
    for some in rng.sample(NOISE, noise):
        lines.insert(rng.randint(0, len(lines)), filled(rng, some))
    if error:  # nothing follows
        lines = lines[: next(i for i, line in enumerate(lines) if line.startswith("ERROR ")) + 1]
    hour, minute = rng.randint(0, 23), rng.randint(0, 59)
    return "\n".join(f"{hour:02}:{minute:02}:{second:02} {line}" for second, line in enumerate(lines))


# -- read_log ---------------------------------------------------------------------------------------------------


def test_read_log_as_asked(check, rng):
    """Without a change, what was asked for runs: for decode batches and for mixed batches, with no reasons."""
    check.each("read_log", [(log(rng, 0, noise=0),) for _ in range(12)], oracle.read_log)


def test_read_log_one_change(check, rng):
    """A mode that becomes another one is replaced by it, and the reason is kept, word for word."""
    check.each("read_log", [(log(rng, 1, noise=0),) for _ in range(12)], oracle.read_log)


def test_read_log_changes_in_a_row(check, rng):
    """After several changes the last mode runs, and all reasons are kept in their order."""
    check.each("read_log", [(log(rng, rng.randint(2, 3), noise=0),) for _ in range(10)], oracle.read_log)


def test_read_log_failed_start(check, rng):
    """After an ERROR line nothing runs, and the message of that line is the last reason."""
    cases = [(log(rng, changes, error=True, noise=0),) for changes in (0, 0, 0, 1, 2)]
    check.each("read_log", cases, oracle.read_log)


def test_read_log_other_lines(check, rng):
    """Lines about anything else change nothing, even when they name a mode, 'becomes' or ERROR."""
    cases = [(log(rng, rng.randint(0, 2), error=i % 5 == 4, noise=rng.randint(2, 6)),) for i in range(20)]
    for mode in MODES:  # one of which was not asked for, at least
        cases.append((log(rng, 0, noise=0) + f"\n23:59:59 INFO bench: the run before used cudagraph_mode {mode}",))
        cases.append((log(rng, 1, noise=0) + f"\n23:59:59 INFO engine: dtype {mode} becomes bfloat16: by default",))
    cases += [(log(rng, rng.randint(0, 1), noise=0) + f"\n23:59:59 {filled(rng, line)}",) for line in NOISE]
    check.each("read_log", cases, oracle.read_log)


# -- resolve_cudagraph_mode ---------------------------------------------------------------------------------------


def every(check, rng, wanted):
    """All cases, in some order, whose (steps, mode, support, settings) are `wanted`."""
    cases = []
    for mode, support, compiled, splits in itertools.product(MODES, SUPPORT, (True, False), (True, False)):
        for query_len in (1, rng.randint(2, 7)):
            settings = {"query_len": query_len, "piecewise_compiled": compiled, "attention_splits": splits}
            if wanted(oracle.steps(mode, support, **settings), mode, support, settings):
                cases.append((mode, support, check.keywords(**settings)))
    rng.shuffle(cases)
    return cases


def test_resolve_cudagraph_mode_full_for_mixed(check, rng):
    """Rule 1: FULL for mixed batches needs ALWAYS; otherwise only decode batches keep their full graphs."""
    cases = every(
        check,
        rng,
        lambda steps, mode, support, settings: (
            mode == "FULL" and support != "NEVER" and settings["query_len"] == 1 and settings["piecewise_compiled"]
        ),
    )
    defaults = [("FULL", "UNIFORM_BATCH"), ("FULL", "UNIFORM_SINGLE_TOKEN_DECODE")]
    check.each("resolve", defaults + cases, oracle.resolve, scene=True)


def test_resolve_cudagraph_mode_refuses_full_with_never(check, rng):
    """Rule 1: FULL with a backend that can never be captured is refused with ValueError, whatever the rest is."""
    cases = every(check, rng, lambda steps, *_: steps is None)
    check.each("resolve", [("FULL", "NEVER"), *cases], oracle.resolve, scene=True)


def test_resolve_cudagraph_mode_decode_with_never(check, rng):
    """Rule 2: NEVER takes full graphs away from decode batches too: PIECEWISE is left, or NONE."""
    cases = every(
        check,
        rng,
        lambda steps, mode, support, settings: (
            mode in ("FULL_DECODE_ONLY", "FULL_AND_PIECEWISE") and support == "NEVER"
        ),
    )
    check.each("resolve", [("FULL_AND_PIECEWISE", "NEVER"), *cases], oracle.resolve, scene=True)


def test_resolve_cudagraph_mode_several_tokens(check, rng):
    """Rule 3: more than one token per request needs UNIFORM_BATCH; one token does not."""
    cases = every(
        check,
        rng,
        lambda steps, mode, support, settings: (
            mode in ("FULL_DECODE_ONLY", "FULL_AND_PIECEWISE") and support in SUPPORT[1:3]
        ),
    )
    check.each("resolve", cases, oracle.resolve, scene=True)


def test_resolve_cudagraph_mode_not_compiled(check, rng):
    """Rule 4: without pieces to capture, only what needs no pieces is left of a mode."""
    cases = every(
        check,
        rng,
        lambda steps, mode, support, settings: (
            mode in ("PIECEWISE", "FULL_AND_PIECEWISE") and support == "ALWAYS" and not settings["piecewise_compiled"]
        ),
    )
    check.each("resolve", cases, oracle.resolve, scene=True)


def test_resolve_cudagraph_mode_rules_in_a_row(check, rng):
    """Each rule sees the mode that the rule before it left."""
    cases = every(check, rng, lambda steps, *_: steps is not None and len(steps) > 1)
    check.each("resolve", cases, oracle.resolve, scene=True)


def test_resolve_cudagraph_mode_as_asked(check, rng):
    """A mode that the backend and the compilation allow stays as it is."""
    cases = every(check, rng, lambda steps, *_: steps == [])
    controls = every(check, rng, lambda steps, *_: steps is not None and len(steps) == 1)[:6]
    check.each("resolve", cases, oracle.resolve, controls=controls, scene=True)


def test_resolve_cudagraph_mode_says_why(check, rng):
    """Each rule that changes the mode logs one warning, with both modes and its own reason; the others log nothing."""
    cases = every(check, rng, lambda steps, *_: steps is not None)
    check.each("warnings_of", cases, oracle.warnings_of, accept=oracle.wrong_warnings, scene=True)
