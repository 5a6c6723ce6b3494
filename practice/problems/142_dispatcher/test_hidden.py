"""Hidden tests of problem 142. Inputs are drawn for each run; the docstrings are shown to the learner.

All names asked here are scene functions: objects cannot cross to the judge, their names and numbers can.
"""

import oracle

MODES = tuple(oracle.PAIRS)
PAIR = "FULL_AND_PIECEWISE"


def ladder(rng, top, query_len=1):
    """Some sizes in any order, one of them twice; whole requests among them, and 'top'."""
    sizes = {top, *rng.sample(range(1, top), min(6, top - 1))}
    sizes |= {query_len * n for n in rng.sample(range(1, top // query_len + 1), min(4, top // query_len))}
    sizes = [*sizes, top]
    rng.shuffle(sizes)
    return sizes


def server(check, rng, mode, query_len=1, **more):
    """(the arguments of a dispatcher as keywords, its sizes in order, its largest decode batch)."""
    max_num_seqs = rng.randint(6, 20)
    sizes = ladder(rng, rng.randint(max_num_seqs + 5, 2 * max_num_seqs + 5) * query_len, query_len)
    sizes.insert(rng.randint(0, len(sizes)), rng.randint(2, max_num_seqs) * query_len)  # a decode graph, at least
    settings = {"mode": mode, "sizes": sizes, "max_num_seqs": max_num_seqs} | more
    if query_len > 1:
        settings["query_len"] = query_len
    return settings, sorted(set(sizes)), max_num_seqs * query_len


def asked(check, settings, n, **batch):
    return (n, check.keywords(**batch, **settings))


# -- BatchDescriptor ------------------------------------------------------------------------------------------------


def test_BatchDescriptor_relaxed(check, rng):
    """The relaxed key keeps the tokens and drops how they form requests; the key itself stays as it was."""
    cases = [(n := rng.randint(2, 64), n, True, False) for _ in range(4)]
    cases += [(3 * n, n, True, False) for n in (rng.randint(1, 20), 7)]
    check.each("relaxed", cases, oracle.relaxed, scene=True)


def test_BatchDescriptor_relaxed_keeps_lora(check, rng):
    """A graph captured without adapters cannot serve a batch with them: the relaxed key keeps has_lora."""
    cases = [(n, rng.choice((None, n)), rng.choice((True, False)), True) for n in rng.sample(range(1, 64), 5)]
    check.each("relaxed", [*cases, (4, 4, True, True)], oracle.relaxed, scene=True)


def test_BatchDescriptor_as_a_key(check, rng):
    """Batches with the same tokens and the same has_lora have one relaxed key, as a set sees it; others do not."""
    n = rng.randint(2, 32)
    one = (2 * n, n, True, False)
    others = [(2 * n, None, False, False), (2 * n, 2 * n, True, False), (2 * n, n, True, True), (n, n, True, False)]
    check.each("same_graph", [(one, other) for other in others], oracle.same_graph, scene=True)


# -- CudagraphDispatcher --------------------------------------------------------------------------------------------


def test_CudagraphDispatcher_keys(check, rng):
    """`keys` holds one key for each graph of the mode, and no other."""
    cases = []
    for mode in MODES:
        for query_len in (1, rng.randint(2, 4)):
            settings, _, _ = server(check, rng, mode, query_len)
            cases.append((check.keywords(**settings),))
    check.each("keys", cases, oracle.keys, scene=True)


def test_CudagraphDispatcher_pads_mixed_batches(check, rng):
    """A mixed batch runs in the smallest graph of pieces that is large enough."""
    cases = []
    for mode in (PAIR, PAIR, "PIECEWISE"):
        settings, sizes, _ = server(check, rng, mode)
        some = {*rng.sample(range(1, sizes[-1]), 4), rng.choice(sizes)}
        cases += [asked(check, settings, n) for n in some]
    check.each("dispatch", cases, oracle.dispatch, scene=True)


def test_CudagraphDispatcher_full_for_decode_batches(check, rng):
    """A uniform decode batch runs in a full graph, whose key says how many requests the padded batch has."""
    cases = []
    for mode in (PAIR, PAIR, "FULL_DECODE_ONLY"):
        settings, sizes, most = server(check, rng, mode)
        top = max(s for s in sizes if s <= most)
        cases += [asked(check, settings, n, uniform=True) for n in {rng.randint(1, top), rng.randint(1, top), top}]
    check.each("dispatch", cases, oracle.dispatch, scene=True)


def test_CudagraphDispatcher_eager_above_the_top(check, rng):
    """Above the largest size, in mode NONE and with no sizes, a batch runs eagerly: as it is, not padded."""
    cases = []
    for mode in MODES[1:]:
        settings, sizes, _ = server(check, rng, mode)
        n = sizes[-1] + rng.randint(1, 9)
        cases += [asked(check, settings, n), asked(check, settings, n, uniform=True)]
    settings, sizes, _ = server(check, rng, "NONE")
    cases += [asked(check, settings, rng.choice(sizes)), asked(check, settings, 1, uniform=True)]
    settings, _, _ = server(check, rng, rng.choice(MODES))
    cases += [asked(check, settings | {"sizes": []}, n, uniform=n == 3) for n in (rng.randint(1, 9), 3)]
    check.each("dispatch", cases, oracle.dispatch, scene=True)


def test_CudagraphDispatcher_decode_batch_without_a_full_graph(check, rng):
    """A decode batch above the decode graphs runs in pieces if there are any, else eagerly."""
    cases = []
    for mode in (PAIR, PAIR, "FULL_DECODE_ONLY"):
        settings, sizes, most = server(check, rng, mode)
        above = max(s for s in sizes if s <= most) + 1
        cases += [asked(check, settings, n, uniform=True) for n in {above, rng.randint(above, sizes[-1]), sizes[-1]}]
    settings, sizes, _ = server(check, rng, "PIECEWISE")
    cases.append(asked(check, settings, rng.choice(sizes[:-1]), uniform=True))
    check.each("dispatch", cases, oracle.dispatch, scene=True)


def test_CudagraphDispatcher_no_decode_graph_for_mixed_batches(check, rng):
    """A mixed batch never runs in a graph of decode batches, whatever its size."""
    cases = []
    for mode in ("FULL_DECODE_ONLY", PAIR):
        settings, sizes, most = server(check, rng, mode)
        cases += [asked(check, settings, n) for n in {rng.choice(sizes[:-1]), rng.randint(1, most), 1}]
    check.each("dispatch", cases, oracle.dispatch, scene=True)


def test_CudagraphDispatcher_full_for_every_batch(check, rng):
    """In mode FULL there is one kind of graph, for any batch: its key says nothing about requests."""
    cases = []
    for _ in range(2):
        settings, sizes, most = server(check, rng, "FULL")
        for n in {rng.randint(1, sizes[-1]), rng.randint(1, sizes[-1]), most}:
            cases += [asked(check, settings, n), asked(check, settings, n, uniform=True)]
    check.each("dispatch", cases, oracle.dispatch, scene=True)


def test_CudagraphDispatcher_several_tokens_per_request(check, rng):
    """With query_len above 1, a decode graph holds whole requests, and num_reqs counts them."""
    cases = []
    for mode in (PAIR, "FULL_DECODE_ONLY", PAIR):
        query_len = rng.randint(2, 5)
        settings, sizes, most = server(check, rng, mode, query_len)
        for requests in {*rng.sample(range(1, most // query_len + 1), 4), most // query_len}:
            cases.append(asked(check, settings, requests * query_len, uniform=True))
        cases.append(asked(check, settings, rng.randint(1, sizes[-1])))
    for query_len in (2, rng.randint(3, 5)):  # the next size holds no whole number of requests, the one after it does
        n = query_len * rng.randint(2, 6)
        settings = {"mode": PAIR, "sizes": [query_len, n + 1, n + query_len], "max_num_seqs": 8, "query_len": query_len}
        cases.append(asked(check, settings, n, uniform=True))
    check.each("dispatch", cases, oracle.dispatch, scene=True)


def test_CudagraphDispatcher_lora(check, rng):
    """A batch with adapters runs only in a graph that was captured with them, else eagerly, and keeps has_lora."""
    cases, controls = [], []
    for mode in (PAIR, "FULL", "PIECEWISE"):
        settings, sizes, most = server(check, rng, mode)
        size = rng.choice([s for s in sizes if s <= most])
        cases += [
            asked(check, settings, size, has_lora=True),
            asked(check, settings, size, uniform=True, has_lora=True),
        ]
        for name in ("FULL", "PIECEWISE"):
            more = settings | {"with_lora": [(name, size)]}
            cases.append(asked(check, more, size, uniform=True, has_lora=True))
        controls.append(asked(check, settings | {"with_lora": [("FULL", size)]}, size, uniform=True))
    check.each("dispatch", cases, oracle.dispatch, controls=controls, scene=True)


def test_CudagraphDispatcher_lost_graphs(check, rng):
    """`keys` decides: where the key of the padded batch was taken out, the next kind of graph serves it, then none.

    Where FULL and PIECEWISE both have it, FULL comes first.
    """
    cases = []
    for mode in (PAIR, "PIECEWISE"):  # one size has a full graph for any batch too
        settings, sizes, most = server(check, rng, mode)
        size = rng.choice(sizes)
        twice = settings | {"also_full": [size]}
        cases += [asked(check, twice, size), asked(check, twice, sizes[-1]), asked(check, twice, size, uniform=True)]
        adapters = twice | {"with_lora": [("FULL", size), ("PIECEWISE", size)]}
        cases.append(asked(check, adapters, size, has_lora=True))
    for mode in (PAIR, PAIR, "FULL", "PIECEWISE", "FULL_DECODE_ONLY"):
        settings, sizes, most = server(check, rng, mode)
        size = rng.choice([s for s in sizes if s <= most])
        full, pieces = ("FULL", size), ("PIECEWISE", size)
        for lost, uniform in (([full], True), ([full, pieces], True), ([pieces], True), ([pieces], False)):
            cases.append(asked(check, settings | {"lost": lost}, size, uniform=uniform))
    check.each("dispatch", cases, oracle.dispatch, scene=True)


def test_CudagraphDispatcher_attributes(check, rng):
    """A dispatcher says which mode, which sizes (ascending, each once) and which query_len it was made with.

    The list that it was given stays as it is.
    """
    cases = [(check.keywords(**server(check, rng, mode, rng.randint(1, 3))[0]),) for mode in MODES]
    check.each("attributes", cases, oracle.attributes, scene=True)


def test_CudagraphDispatcher_capture_order(check, rng):
    """The keys that are there are captured: those of pieces before full ones, each kind from the largest down."""
    cases = [(check.keywords(**server(check, rng, mode, rng.randint(1, 2))[0]),) for mode in (*MODES, PAIR, PAIR)]
    for mode in ("PIECEWISE", "FULL", "FULL_DECODE_ONLY", PAIR, PAIR):
        settings, sizes, most = server(check, rng, mode)
        gone, more = rng.choice([s for s in sizes if s <= most]), rng.choice([s for s in sizes if s <= most])
        kind = rng.choice(["PIECEWISE"] * (mode in ("PIECEWISE", PAIR)) + ["FULL"] * (mode != "PIECEWISE"))
        cases.append((check.keywords(**settings, lost=[(kind, gone)]),))
        cases.append((check.keywords(**settings, with_lora=[(kind, more)]),))
    check.each("capture_order", cases, oracle.capture_order, scene=True)


def test_CudagraphDispatcher_refuses_empty_batches(check, rng):
    """A batch has at least one token: fewer are refused with ValueError, in every mode."""
    settings = {mode: server(check, rng, mode)[0] for mode in MODES}
    cases = [asked(check, settings[mode], n) for mode in MODES for n in (0, -rng.randint(1, 9))]
    controls = [asked(check, settings[mode], n) for mode in MODES for n in (1, 10_000)]
    check.each("refused", cases, oracle.refused, controls=controls, scene=True)
