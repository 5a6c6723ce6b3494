"""Hidden tests of problem 138. Inputs are drawn for each run; the docstrings are shown to the learner.

That a piece is replayed and not run shows in its numbers: a Python number that is changed after the capture stays what
it was in a graph. That attention is run and not replayed shows in the same way. What a forger could still do: keep the
old number on purpose, by copying the pieces as they are at capture; that is more work than to capture them.
"""

import oracle
import torch


def tolerance(want):
    """Half precision is off by more for most numbers."""
    return 1e-4 * max(1.0, want.abs().max().item() if want.numel() else 0)


def whole(rng, *shape):
    """Whole numbers, which every backend adds up alike."""
    count = torch.Size(shape).numel()
    return torch.tensor([float(rng.randint(-9, 9)) for _ in range(count)]).reshape(shape)


# --- pieces that are written down -------------------------------------------------------------------


def draw_pieces(rng, kinds, given=("x", "y")):
    """Pieces, 'g' for one between and 's' for one with `splits`; each reads up to three values, the newest among them.

    The last value made is the result; others are let go after their last use, or are never let go if nobody reads them.
    """
    there, described = list(given), []
    for i, kind in enumerate(kinds):
        older = rng.sample(there[:-1], rng.randint(0, min(2, len(there) - 1)))
        outputs = [f"v{i}"] if kind == "s" or i == len(kinds) - 1 else [f"u{i}", f"v{i}"][-rng.randint(1, 2) :]
        described.append({"inputs": [there[-1], *older], "outputs": outputs, "splits": kind == "s"})
        there += outputs
    made, later = set(there) - set(given), {there[-1]}
    for text in reversed(described):
        text["last_uses"] = [n for n in text["inputs"] if n in made and n not in later]
        later |= set(text["inputs"])
    return described


def factors_of(rng, described, live=True):
    """A Python number for each piece; None for those that may not run yet."""
    return [None if text["splits"] and not live else rng.randint(2, 5) for text in described]


def result_of(described):
    return described[-1]["outputs"][0]


def described_with(described, factors):
    return [text | {"factor": factor} for text, factor in zip(described, factors, strict=True)]


def test_run_pieces_in_order(check, rng):
    """Each piece gets its inputs by name, in their order, and what it returns goes by the names of its outputs."""
    for kinds in ("g", "gsg", "gsgsg", "sgs"):
        described = draw_pieces(rng, kinds)
        factors, values = factors_of(rng, described), {"x": whole(rng, 2), "y": whole(rng, 2)}
        left, every = oracle.run_pieces(described, factors, values)
        script = check.script()
        pieces = script.scene("pieces", described_with(described, factors), as_="pieces")
        held = script.scene("values", **values, as_="values")
        names = ["x", "y", result_of(described)]
        script.ask_scene("run_and_read", pieces, held, *names, want=[left, [every[name] for name in names]])


def test_run_pieces_lets_go(check, rng):
    """A value is gone once the piece that has it among its last uses has run: its memory is free for later pieces."""
    for _ in range(2):
        described = draw_pieces(rng, "ggggg")
        gone, before = [], []
        for text in described:
            text["gone"] = gone
            gone, before = [*gone, *before], text["last_uses"]
        factors, values = factors_of(rng, described), {"x": whole(rng, 2), "y": whole(rng, 2)}
        left, every = oracle.run_pieces(described, factors, values)
        script = check.script()
        pieces = script.scene("pieces", described_with(described, factors), as_="pieces")
        held = script.scene("values", **values, as_="values")
        name = result_of(described)
        script.ask_scene("run_and_read", pieces, held, name, want=[left, [every[name]]])


def test_run_pieces_leaves_the_given_values(check, rng):
    """The dict that is given keeps its names and nothing is added, so it can be used for the next run."""
    for kinds in ("gg", "gsg"):
        described = draw_pieces(rng, kinds)
        factors, values = factors_of(rng, described), {"x": whole(rng, 2), "y": whole(rng, 2)}
        script = check.script()
        pieces = script.scene("pieces", described_with(described, factors), as_="pieces")
        held = script.scene("values", **values, as_="values")
        for _ in range(2):
            left, every = oracle.run_pieces(described, factors, values)
            name = result_of(described)
            script.ask_scene("run_and_read", pieces, held, name, want=[left, [every[name]]])
            script.ask_scene("names_of", held, want=["x", "y"])
            values = {"x": whole(rng, 2), "y": whole(rng, 2)}
            script.ask_scene("write", held, **values, want=None)


# --- CapturedPieces ---------------------------------------------------------------------------------


class Captured:
    """CapturedPieces of drawn pieces, and what its replays must give."""

    def __init__(self, check, rng, kinds, described=None, script=None, rows=2, ys=None, dtype=torch.float32, **options):
        self.rng, self.script = rng, script or check.script()
        self.described = described or draw_pieces(rng, kinds)
        self.factors = factors_of(rng, self.described, live=False)
        self.values = {"x": whole(rng, rows, 2).to(dtype), "y": whole(rng, ys or rows, 2).to(dtype)}
        self.pieces = self.script.scene("pieces", described_with(self.described, self.factors), as_="pieces")
        self.held = self.script.scene("values", **self.values, as_="values")
        self.captured = self.script.make("CapturedPieces", self.pieces, self.held, **options)

    def change_factors(self):
        """Other numbers everywhere: graphs keep those that they were captured with, pieces with splits do not."""
        new = factors_of(self.rng, self.described)
        new = [n + 5 * (n == old) for n, old in zip(new, self.factors, strict=True)]
        self.script.ask_scene("set_factors", self.pieces, new, shift=self.rng.randint(100, 999), want=None)
        pairs = zip(self.described, self.factors, new, strict=True)
        self.factors = [after if text["splits"] else before for text, before, after in pairs]

    def write(self):
        self.values = {name: whole(self.rng, *old.shape).to(old.dtype) for name, old in self.values.items()}
        self.script.ask_scene("write", self.held, **self.values, want=None)

    def replay(self):
        name = result_of(self.described)
        left, every = oracle.run_pieces(self.described, self.factors, self.values)
        self.script.ask_scene("replay_and_read", self.captured, name, want=[left, [every[name]]])


def test_CapturedPieces_keeps_python_values(check, rng):
    """A piece between is replayed: a Python number that it reads stays what it was at capture."""
    for kinds in ("g", "gs", "gg"):
        one = Captured(check, rng, kinds)
        one.change_factors()
        one.replay()


def test_CapturedPieces_runs_attention_anew(check, rng):
    """A piece with splits runs at each replay, with the Python values of now; what it gives reaches the next graph."""
    for kinds in ("gsg", "gsgsg"):
        one = Captured(check, rng, kinds)
        for _ in range(3):
            one.change_factors()
            one.replay()


def test_CapturedPieces_reads_values_where_they_lie(check, rng):
    """A replay reads what is now in the memory of the values that were given; nothing of the replay before stays."""
    for kinds in ("gg", "gsgsg"):
        one = Captured(check, rng, kinds)
        one.change_factors()
        for _ in range(3):
            one.write()
            one.replay()


def test_CapturedPieces_attention_at_the_ends(check, rng):
    """A piece with splits may be the first or the last, two may follow each other, and there may be no other piece."""
    both = [
        {"inputs": ["x"], "outputs": ["v0"], "last_uses": [], "splits": False},
        {"inputs": ["v0"], "outputs": ["v1"], "last_uses": [], "splits": True},
        {"inputs": ["v0", "y"], "outputs": ["v2"], "last_uses": ["v0"], "splits": True},
        {"inputs": ["v2", "v1"], "outputs": ["v3"], "last_uses": ["v2", "v1"], "splits": False},
    ]
    for described in (both, *(draw_pieces(rng, kinds) for kinds in ("sg", "gs", "s", "sgss"))):
        one = Captured(check, rng, "", described)
        for _ in range(2):
            one.change_factors()
            one.write()
            one.replay()


def test_CapturedPieces_the_place_of_attention(check, rng):
    """What attention returns is kept for the next graph: in the shape and the dtype of its first input."""
    described = [
        {"inputs": ["x"], "outputs": ["v0"], "last_uses": [], "splits": False},
        {"inputs": ["v0", "y"], "outputs": ["v1"], "last_uses": ["v0"], "splits": True},
    ]
    last = {"inputs": ["v1", "x"], "outputs": ["v2"], "last_uses": ["v1"], "splits": False}
    for dtype, pieces in ((torch.float64, described), (torch.float32, [*described, last])):
        one = Captured(check, rng, "", pieces, rows=3, ys=1, dtype=dtype)
        one.change_factors()
        one.write()
        one.replay()


def test_CapturedPieces_runs_pieces_as_often_as_it_should(check, rng):
    """A capture runs pieces `warmup` times, 1 unless said, but none with splits; a replay runs each piece once."""
    for splits, options, warmups in ((False, {}, 1), (False, {"warmup": 3}, 3), (True, {"warmup": 2}, 0)):
        middle = {"inputs": ["y", "v0"], "outputs": ["v1"], "last_uses": ["v0"], "splits": splits, "counts": True}
        first = {"inputs": ["x"], "outputs": ["v0"], "last_uses": [], "splits": False}
        last = {"inputs": ["v1", "x"], "outputs": ["v2"], "last_uses": ["v1"], "splits": False}
        one = Captured(check, rng, "", [first, middle, last], **options)
        one.change_factors()
        total = one.values["y"] + warmups
        one.script.ask_scene("read", one.held, "y", want=[total])
        for _ in range(2):
            one.values["y"] = total
            one.replay()
            total = total + 1
            one.script.ask_scene("read", one.held, "y", want=[total])


def test_CapturedPieces_shares_a_pool(check, rng):
    """With the pool of pieces captured before, both stay right: each graph finds its values where it left them."""
    large = Captured(check, rng, "gsgsg", rows=4)
    pool = large.script.scene("pool_of", large.captured, as_="pool")
    small = Captured(check, rng, "", large.described, script=large.script, rows=2, pool=pool)
    large.script.ask_scene("in_pool", small.captured, pool, want=True)
    for one in (large, small, large, small):
        one.change_factors()
        one.write()
        one.replay()


# --- PiecewiseRunner --------------------------------------------------------------------------------


class Server:
    """A runner in the worker and the plain model here; both get the same batches."""

    def __init__(self, check, rng, sizes, layers=2, fused=False, capture=True):
        self.rng, self.script = rng, check.script()
        count = sum(rows * columns for _, rows, columns in oracle.Model.shapes(layers))
        numbers = torch.tensor([rng.uniform(-1, 1) for _ in range(count)])
        self.model, self.gain, self.scale, self.shift = oracle.Model(numbers, layers), 1.0, 1.0, 0
        self.eager_gain, self.eager_shift = self.gain, self.shift
        fused = {"fused": True} if fused else {}
        self.step = self.script.scene("tiny_step", numbers, layers=layers, **fused, as_="step")
        self.attention = self.script.scene("scaled_attention", as_="backend")
        self.kv = self.script.scene("cache", self.step, 25, as_="kv")
        self.buffers = self.script.scene("step_buffers", self.step, 24, 6, as_="buffers")
        self.sizes = list(sizes)
        parts = (self.step, self.kv, self.attention, self.buffers, self.sizes)
        self.runner = self.script.make("PiecewiseRunner", *parts, as_="runner")
        blocks = rng.sample(range(1, 25), 24)
        self.tables = [blocks[4 * r : 4 * r + 4] for r in range(6)]
        self.captured = capture
        if capture:
            self.script.ask(self.runner, "capture", want=None)
            self.change(gain=rng.choice([2.0, 3.0]), scale=rng.choice([2.0, 3.0]))

    def change(self, gain=None, scale=None):
        """Other Python numbers: an eager step and attention use them from now on, graphs do not."""
        if gain:
            self.eager_gain, self.eager_shift = gain, self.rng.randint(1, 9)
            self.script.ask_scene("change", self.step, gain=gain, shift=self.eager_shift, want=None)
        if scale:
            self.scale = scale
            self.script.ask_scene("change", self.attention, scale=scale, want=None)

    def fits(self, items):
        return self.captured and sum(n for _, n, _ in items) <= max(self.sizes, default=0)

    def batch(self, items):
        """`items` are (request, number of tokens, whether logits are wanted): the batch, and what it must give."""
        drawn = [(r, [self.rng.randint(0, 8) for _ in range(n)], wanted) for r, n, wanted in items]
        given = [(tokens, self.model.computed(r), self.tables[r], wanted) for r, tokens, wanted in drawn]
        batch = self.script.scene("batch", given, as_="batch")
        gain, shift = (self.gain, self.shift) if self.fits(items) else (self.eager_gain, self.eager_shift)
        return batch, self.model.run(drawn, gain, self.scale, shift)

    def run(self, *items):
        batch, want = self.batch(items)
        self.script.ask(self.runner, "run", batch, want=want, tolerance=tolerance(want))


def test_PiecewiseRunner_all_kinds_of_batches(check, rng):
    """Prompts, decode steps and batches of both run in the same graphs, padded to the next size."""
    for layers in (1, 2):
        server = Server(check, rng, [rng.randint(4, 6), 2, 12], layers)
        a, b, c, d = rng.sample(range(6), 4)
        server.run((d, 1, True))
        server.run((a, rng.randint(5, 7), True), (b, rng.randint(2, 4), True))
        server.run((a, 1, True), (b, 1, True))
        server.run((a, 1, True), (c, rng.randint(2, 5), True), (b, 1, True))
        server.run((c, 1, True))


def test_PiecewiseRunner_logits_of_the_rows_that_are_wanted(check, rng):
    """The result has a row for each entry of logits_indices; `step.head` gets these rows and no others."""
    server = Server(check, rng, [12, 4])
    for _ in range(2):
        server.run((0, rng.randint(3, 5), True), (1, rng.randint(2, 4), True))
        server.script.ask_scene("rows_of_the_head", server.step, want=2)
    server.run((2, rng.randint(2, 3), True))
    server.script.ask_scene("rows_of_the_head", server.step, want=1)


def test_PiecewiseRunner_numbers_of_now_for_attention(check, rng):
    """Attention sees the Python values of this very step; the pieces keep those of the capture."""
    server = Server(check, rng, [3, 9])
    server.run((0, rng.randint(3, 6), True), (1, 2, True))
    for scale in (0.5, 4.0):
        server.change(gain=rng.choice([0.5, 1.5]), scale=scale)
        server.run((0, 1, True), (1, rng.randint(1, 2), True))


def test_PiecewiseRunner_without_a_graph(check, rng):
    """Above the largest size, and before `capture`, the step runs eagerly; `can_run` says which batches graphs take."""
    server = Server(check, rng, [8, 2], capture=False)
    batch, want = server.batch([(0, 3, True)])
    server.script.ask(server.runner, "can_run", batch, want=False)
    server.script.ask(server.runner, "run", batch, want=want, tolerance=tolerance(want))
    server.script.ask(server.runner, "capture", want=None)
    server.captured = True
    server.change(gain=rng.choice([0.5, 1.5]), scale=2.0)
    for items in (
        [(1, 8, True)],
        [(2, rng.randint(9, 12), True)],
        [(0, 1, True), (1, 1, True)],
        [(3, rng.randint(3, 7), True)],
        [(4, 1, True)],
        [(0, 7, True), (2, 2, True)],
    ):
        batch, want = server.batch(items)
        server.script.ask(server.runner, "can_run", batch, want=server.fits(items))
        server.script.ask(server.runner, "run", batch, want=want, tolerance=tolerance(want))


def test_PiecewiseRunner_no_sizes(check, rng):
    """Without sizes there is nothing to capture, and every batch runs eagerly."""
    server = Server(check, rng, [])
    server.run((0, rng.randint(2, 5), True))
    batch, want = server.batch([(0, 1, True), (1, 2, True)])
    server.script.ask(server.runner, "can_run", batch, want=False)
    server.script.ask(server.runner, "run", batch, want=want, tolerance=tolerance(want))


def test_PiecewiseRunner_gives_the_rows_that_are_wanted(check, rng):
    """Logits of the rows that the batch wants, in its order, none of padding; a batch may want none at all."""
    server = Server(check, rng, [16, 4])
    server.run((0, rng.randint(2, 6), False), (1, 3, True), (2, rng.randint(1, 4), False))
    server.run((2, 2, False))
    server.run((1, 1, True), (2, 1, False), (0, 1, True))


def test_PiecewiseRunner_nothing_of_the_batch_before(check, rng):
    """A small batch after a large one: no row, length, block or slot of the batch before shows."""
    server = Server(check, rng, [12])
    server.run((0, 6, True), (1, 3, True), (2, 3, True))
    server.run((3, rng.randint(1, 2), True))
    server.run((0, 1, True), (3, 1, True))
    server.run((4, rng.randint(8, 12), True))
    server.run((1, 2, True))
    many = sum(server.model.computed(r) for r in range(6))
    server.script.ask_scene("written", server.kv, want=many)


def test_PiecewiseRunner_largest_first(check, rng):
    """Sizes are captured from the largest to the smallest, each of them once, whatever their order."""
    server = Server(check, rng, [], capture=False)
    sizes = rng.sample([2, 3, 5, 6, 9, 11], 4)
    parts = (server.step, server.kv, server.attention, server.buffers, [*sizes, sizes[0]])
    runner = server.script.make("PiecewiseRunner", *parts, as_="runner")
    server.script.ask_scene("change", server.step, ranked=True, want=None)
    server.script.ask(runner, "capture", want=None)
    server.script.ask_scene("all_sizes_ran_as_often", server.step, want=True)
    server.change(gain=3.0)
    server.sizes, server.captured = sizes, True
    for rank, size in enumerate(sorted(sizes, reverse=True)):
        tokens = [rng.randint(0, 8) for _ in range(size)]
        batch = server.script.scene("batch", [(tokens, 0, server.tables[rank], True)], as_="batch")
        want = server.model.run([(rank, tokens, True)], 1.0, 1.0, extra=100.0 * rank)
        server.script.ask(runner, "run", batch, want=want, tolerance=tolerance(want))


def test_PiecewiseRunner_one_pool(check, rng):
    """All sizes are captured in one pool, `runner.pool` from then on: the pool that was given, or else a new one."""
    for given in (False, True):
        server = Server(check, rng, [], capture=False)
        script, server.sizes, server.captured = server.script, rng.sample([2, 3, 5, 6, 9], 3), True
        pool = {"pool": script.scene("empty_pool", server.step, as_="pool")} if given else {}
        parts = (server.step, server.kv, server.attention, server.buffers, server.sizes)
        before = script.scene("pools_so_far", as_="before")
        server.runner = script.make("PiecewiseRunner", *parts, **pool, as_="runner")
        script.ask(server.runner, "capture", want=None)
        script.ask_scene("new_pools", before, want=0 if given else 1)
        script.ask_scene("in_pool", server.runner, pool["pool"] if given else None, want=given)
        server.change(gain=3.0)
        server.run((0, rng.randint(1, 2), True))


def test_PiecewiseRunner_capture_leaves_the_cache_alone(check, rng):
    """A fused piece writes keys to the cache itself: while it is captured, it must not write over those of a batch."""
    server = Server(check, rng, [8, 4], fused=True, capture=False)
    server.run((0, rng.randint(4, 7), True), (1, rng.randint(1, 4), True))
    server.change(gain=rng.choice([2.0, 3.0]))
    server.gain, server.shift, server.captured = server.eager_gain, server.eager_shift, True
    server.script.ask(server.runner, "capture", want=None)
    server.change(gain=0.5)
    server.run((0, 1, True), (1, 2, True))


def test_PiecewiseRunner_results_are_the_callers(check, rng):
    """No later run changes a result."""
    server = Server(check, rng, [8])
    batches = [server.batch([(r, rng.randint(2, 6), True)]) for r in range(3)]
    results = [server.script.keep(server.runner, "run", batch, as_="logits") for batch, _ in batches]
    for result, (_, want) in zip(results, batches, strict=True):
        server.script.ask_scene("tensor", result, want=want, tolerance=tolerance(want))


def test_PiecewiseRunner_refuses_sizes_above_the_buffers(check, rng):
    """A size that is larger than the buffers is refused when the runner is made, with a ValueError that names it."""
    server = Server(check, rng, [24])
    server.run((0, 5, True))
    size = rng.randint(25, 99)
    parts = (server.step, server.kv, server.attention, server.buffers)
    server.script.refuses(None, "PiecewiseRunner", *parts, [8, size], words=["ValueError", str(size)])
