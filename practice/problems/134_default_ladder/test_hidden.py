"""Hidden tests of problem 134. Inputs are drawn for each run; the docstrings are shown to the learner."""

import oracle

NAME = "default_capture_sizes"


def test_default_capture_sizes_steps(check, rng):
    """1, 2, 4, then steps of 8 below 256, then steps of 16; a top that nobody gave is nothing to warn of."""
    cases = [(8,), (128,), (256,), (10,)] + [(8 * rng.randint(1, 40),) for _ in range(8)]
    check.each(NAME, cases, oracle.default_capture_sizes, warns=lambda *_, **__: [])


def test_default_capture_sizes_top(check, rng):
    """The top is twice max_num_seqs, and never above 512."""
    cases = [(1,), (2,), (4,), (512,), (1024,)] + [(rng.randint(1, 64) * 16,) for _ in range(8)]
    check.each(NAME, cases, oracle.default_capture_sizes)


def test_default_capture_sizes_max_num_seqs(check, rng):
    """A full server is a rung of its own: max_num_seqs is added when it is at most the top."""
    cases = [(3,), (10,), (20,), (100,), (257,), (300,), (513,)] + [(rng.randint(5, 600),) for _ in range(10)]
    check.each(NAME, cases, oracle.default_capture_sizes)


def test_default_capture_sizes_max_num_batched_tokens(check, rng):
    """max_num_batched_tokens bounds the top, and is a rung of its own when it is the top."""
    pairs = [(256, 100), (256, 512), (4, 6), (300, 1)]
    pairs += [(rng.randint(64, 300), rng.randint(1, 520)) for _ in range(12)]
    cases = [(n, check.keywords(max_num_batched_tokens=tokens)) for n, tokens in pairs]
    check.each(NAME, cases, oracle.default_capture_sizes)


def test_default_capture_sizes_query_len(check, rng):
    """With speculative decoding a request brings query_len tokens: those decode batches are rungs too."""
    cases = [(n, check.keywords(query_len=q)) for n, q in ((3, 3), (10, 2), (256, 3))]
    cases += [(rng.randint(1, 130), check.keywords(query_len=rng.randint(2, 7))) for _ in range(7)]
    for _ in range(7):
        settings = {"max_num_batched_tokens": rng.randint(16, 400), "query_len": rng.randint(2, 7)}
        cases.append((rng.randint(1, 130), check.keywords(**settings)))
    check.each(NAME, cases, oracle.default_capture_sizes)


def test_default_capture_sizes_interactivity(check, rng):
    """Interactivity captures every size from 1 to 32, as far as the top goes."""
    some = [rng.randint(1, 300) for _ in range(8)]
    cases = [(n, check.keywords(interactivity=True)) for n in (3, 16, 256, *some)]
    for n, q in ((5, 2), (rng.randint(2, 40), rng.randint(2, 5))):
        cases.append((n, check.keywords(query_len=q, interactivity=True)))
    check.each(NAME, cases, oracle.default_capture_sizes)


def test_default_capture_sizes_blackwell(check, rng):
    """On Blackwell the top may be 1024."""
    some = [rng.randint(1, 1100) for _ in range(6)]
    cases = [(n, check.keywords(blackwell=True)) for n in (256, 512, 1024, *some)]
    check.each(NAME, cases, oracle.default_capture_sizes)


def test_default_capture_sizes_given_top(check, rng):
    """A max_capture_size that is a rung is the top, nothing is added to the rungs, and there is nothing to warn of."""
    cases = [(n, check.keywords(max_capture_size=top)) for n, top in ((256, 8), (100, 256), (3, 512), (300, 640))]
    for _ in range(10):
        top = rng.choice((1, 2, 4, 8 * rng.randint(1, 31), 16 * rng.randint(16, 40)))
        cases.append((rng.randint(1, 300), check.keywords(max_capture_size=top)))
    check.each(NAME, cases, oracle.default_capture_sizes, warns=lambda *_, **__: [])


def test_default_capture_sizes_cut_top(check, rng):
    """A max_capture_size that the ladder does not reach is cut to the last rung, with a warning that names both."""
    cases = [(256, check.keywords(max_capture_size=top)) for top in (3, 42, 100, 600)]
    for tokens, top in ((42, 100), (128, 256), (rng.randint(9, 60), rng.randint(70, 200))):
        cases.append((256, check.keywords(max_num_batched_tokens=tokens, max_capture_size=top)))
    for _ in range(8):
        top = rng.choice((rng.randint(1, 30) * 8, rng.randint(16, 31) * 16)) + rng.randint(1, 7)
        cases.append((rng.randint(1, 300), check.keywords(max_capture_size=top)))
    check.each(NAME, cases, oracle.default_capture_sizes, warns=oracle.warning_names)
