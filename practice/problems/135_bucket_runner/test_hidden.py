"""Hidden tests of problem 135. Inputs are drawn for each run; the docstrings are shown to the learner.

Whether a graph ran shows in a Python number: the scene changes it after the capture, and a replay gives the old one.
Which graph ran shows in the number of rows, in which order graphs were captured in the size of the run before: Python
numbers, too, that stay in the graph. Nothing is counted or timed in the learner's process. Pools
are looked for among all live objects. Not judged, because it cannot be seen from outside: whether a step allocates.
"""

import oracle
import torch

WIDTH = 5  # blocks of a request, as in scene.py
BLOCK = oracle.BLOCK
TOKENS = 20
CLOSE = 5e-5  # half precision is further off


def decoding(rng, count, longest=WIDTH * BLOCK - 1):
    """Items of `count` requests that decode one token each, of any length and in any blocks."""
    items = []
    for _ in range(count):
        computed = rng.randint(0, longest)
        items.append(([rng.randint(1, 99)], computed, blocks(rng, computed + 1), True))
    return items


def blocks(rng, positions):
    return [rng.randint(1, 99) for _ in range(-(-positions // BLOCK))]


def prompts(rng, lengths):
    """Items with several tokens each."""
    return [([rng.randint(1, 99) for _ in range(n)], 0, blocks(rng, n), True) for n in lengths]


class Reader:
    """A runner of the reading step in a script, and what its runs must give."""

    def __init__(self, check, rng, sizes, most=9, capture=True):
        self.rng, self.sizes = rng, sizes
        self.factor, self.now = rng.sample(range(2, 9), 2)
        self.script = check.script()
        self.step = self.script.scene("reading_step", self.factor, as_="step")
        self.buffers = self.script.scene("step_buffers", most, as_="buffers")
        self.runner = self.script.make("BucketRunner", self.step, self.buffers, sizes, as_="runner")
        if capture:
            self.capture()

    def capture(self):
        """Capture; from here on the step has another number."""
        self.script.keep(self.runner, "capture", as_="captured")
        self.script.ask_scene("change_factor", self.step, self.now, want=None)

    def graph(self, items):
        """A run that a graph must do."""
        self._ask(items, oracle.read(items, self.factor, oracle.padded(len(items), self.sizes)))

    def eager(self, items):
        """A run that no graph can do; the step has the number of now."""
        self._ask(items, oracle.read(items, self.now, sum(len(tokens) for tokens, *_ in items)))

    def _ask(self, items, want):
        self.script.ask(self.runner, "run", self.script.scene("batch_of", items, as_="batch"), want=want)


class Paged:
    """A runner of the attending step over a cache, with an oracle beside it."""

    def __init__(self, check, rng, most, poison, used=None):
        draw = torch.Generator().manual_seed(rng.getrandbits(32))
        self.factor, self.now = rng.sample(range(2, 9), 2)
        tokens, places = torch.randn(TOKENS, 24, generator=draw), torch.randn(WIDTH * BLOCK, 24, generator=draw)
        shape = (most * WIDTH + 1, BLOCK, 2, 4)  # the null block, and blocks for every request: the last is in use
        k, v = (torch.randn(shape, generator=draw) for _ in range(2))
        for part in (k, v):
            part[0 : None if poison else 1] = float("nan")
        self.oracle = oracle.Attention(tokens, places, k, v)
        order = list(range(1, shape[0]))
        rng.shuffle(order)
        self.blocks = [order[r::most] for r in range(most)]
        self.last = {}  # each request's last token
        self.script = check.script()
        self.kv = self.script.scene("cache", k, v, as_="kv")
        self.step = self.script.scene("attending_step", tokens, places, self.kv, self.factor, as_="step")
        self.buffers = self.script.scene("step_buffers", most, as_="buffers")
        if used:
            self.script.ask_scene(
                "use", self.buffers, self.script.scene("batch_of", used(self), as_="batch"), want=None
            )

    def item(self, r, tokens, computed):
        self.last[r] = tokens[-1]
        needed = -(-(computed + len(tokens)) // BLOCK)
        return tokens, computed, self.blocks[r][:needed], True

    def capture(self, sizes):
        self.runner = self.script.make("BucketRunner", self.step, self.buffers, sizes, as_="runner")
        self.script.keep(self.runner, "capture", as_="captured")
        self.script.ask_scene("change_factor", self.step, self.now, want=None)

    def run(self, items, graph):
        want = self.oracle.run(items, self.factor if graph else self.now)
        self.script.ask(
            self.runner, "run", self.script.scene("batch_of", items, as_="batch"), want=want, tolerance=CLOSE
        )

    def cache_is_right(self):
        self.script.ask_scene("blocks_of", self.kv, want=self.oracle.blocks(), tolerance=CLOSE)


# -- fill_with_padding --------------------------------------------------------------------------------------------


def test_fill_with_padding_every_tensor(check, rng):
    """Every row is padding: slot -1, and 0 in all other tensors, whatever was there before."""
    for size in (1, rng.randint(2, 5)):
        script = check.script()
        buffers = script.scene("step_buffers", 6, as_="buffers")
        script.ask_scene("use", buffers, script.scene("batch_of", decoding(rng, 6), as_="batch"), want=None)
        inputs = script.scene("view", buffers, size, as_="inputs")
        script.make("fill_with_padding", inputs, as_="filled")
        want = dict.fromkeys(("input_ids", "positions", "seq_lens", "logits_indices"), [0] * size)
        want |= {"slot_mapping": [-1] * size, "block_table": [[0] * WIDTH for _ in range(size)]}
        script.ask_scene("fields", inputs, want=want)


def test_fill_with_padding_in_place(check, rng):
    """The memory stays the same: a graph that was captured before sees the padding."""
    script = check.script()
    size = rng.randint(2, 5)
    buffers = script.scene("step_buffers", size, as_="buffers")
    inputs = script.scene("view", buffers, size, as_="inputs")
    graph = script.scene("graph_of", inputs, as_="graph")
    items = decoding(rng, size)
    script.ask_scene("use", buffers, script.scene("batch_of", items, as_="batch"), want=None)
    rows = oracle.read(items, 1, size)
    script.ask(graph, "replay", want=rows[:, 2:4].T.contiguous())
    script.make("fill_with_padding", inputs, as_="filled")
    script.ask(graph, "replay", want=torch.tensor([[-1] * size, [0] * size]))


def test_fill_with_padding_does_no_harm(check, rng):
    """A step of nothing but padding changes no block of the cache but the null block."""
    paged = Paged(check, rng, 4, poison=False)
    script, count = paged.script, rng.randint(2, 4)
    items = [paged.item(r, [rng.randrange(TOKENS)], rng.randint(0, 18)) for r in range(count)]
    script.ask_scene("use", paged.buffers, script.scene("batch_of", items, as_="batch"), want=None)
    inputs = script.scene("view", paged.buffers, count, as_="inputs")
    script.make("fill_with_padding", inputs, as_="filled")
    script.ask_scene("run_once", paged.step, inputs, want=None)
    paged.cache_is_right()


# -- BucketRunner -------------------------------------------------------------------------------------------------


def test_BucketRunner_captured_sizes(check, rng):
    """A batch of a captured size is replayed: it gives the rows of this batch, and Python does not run the step."""
    reader = Reader(check, rng, [1, 2, 5])
    for count in (*rng.sample([1, 2], 2), 5, rng.choice((1, 2))):
        reader.graph(decoding(rng, count))


def test_BucketRunner_sizes_between(check, rng):
    """Any other batch up to the top runs in the smallest captured size that fits, and the padded rows are dropped."""
    reader = Reader(check, rng, [1, 4, 7])
    for count in rng.sample([2, 3, 5, 6], 4):
        reader.graph(decoding(rng, count))


def test_BucketRunner_above_the_top(check, rng):
    """A batch above the largest captured size runs eagerly, at its own size; the top itself has a graph."""
    reader = Reader(check, rng, [2, 6])
    for count in rng.sample([6, 7, 9, 1], 4):
        (reader.graph if count <= 6 else reader.eager)(decoding(rng, count))


def test_BucketRunner_before_the_capture(check, rng):
    """Before `capture`, and where there are no sizes, every batch runs eagerly."""
    reader = Reader(check, rng, [2, 4], capture=False)
    items = decoding(rng, rng.choice((2, 3)))
    reader._ask(items, oracle.read(items, reader.factor, len(items)))
    reader.capture()
    reader.graph(decoding(rng, 3))
    nothing = Reader(check, rng, [])
    nothing.eager(decoding(rng, 2))


def test_BucketRunner_other_batches(check, rng):
    """A batch that is no decode step (a prompt, or prompts among decodes) runs eagerly, whatever its size."""
    reader = Reader(check, rng, [1, 2, 4])
    reader.graph(decoding(rng, 3))
    reader.eager(prompts(rng, [4]))
    reader.eager(prompts(rng, [2, 2]))
    reader.graph(decoding(rng, 2))
    reader.eager([*decoding(rng, 2), *prompts(rng, [rng.randint(2, 5)])])


def test_BucketRunner_can_run(check, rng):
    """`can_run` says whether a graph can take a batch: True or False."""
    reader = Reader(check, rng, [1, 3], capture=False)
    script, runner = reader.script, reader.runner
    script.ask(runner, "can_run", script.scene("batch_of", decoding(rng, 2), as_="batch"), want=False)
    reader.capture()
    for count, fits in ((2, True), (4, False), (3, True)):
        items = decoding(rng, count)
        script.ask(runner, "can_run", script.scene("batch_of", items, as_="batch"), want=fits)
        (reader.graph if fits else reader.eager)(items)
    script.ask(runner, "can_run", script.scene("batch_of", prompts(rng, [3]), as_="batch"), want=False)


def test_BucketRunner_nothing_of_the_batch_before(check, rng):
    """Batches grow and shrink, long block tables are followed by short ones: nothing that was there before shows."""
    reader = Reader(check, rng, [1, 2, 4, 8])
    for count, longest in ((8, 19), (3, 2), (1, 3), (7, 19), (5, 1), (2, 3)):
        items = decoding(rng, count, longest)
        reader.graph(items)
    elsewhere = decoding(rng, count)  # the same tokens again, in other places
    reader.graph([(tokens, *place) for (tokens, *_), (_, *place) in zip(items, elsewhere, strict=True)])


def test_BucketRunner_writes_its_own_slots(check, rng):
    """Over many steps every request gets the right rows, and no row of padding is written to a block in use.

    The null block, and each slot that nothing was written to, hold nan.
    """
    paged = Paged(check, rng, 5, poison=True)
    paged.capture([1, 2, 4])
    lengths = [rng.randint(1, 6) for _ in range(5)]
    paged.run([paged.item(r, rng.choices(range(TOKENS), k=n), 0) for r, n in enumerate(lengths)], graph=False)
    for running in (range(4), [1, 2, 4], None, [2, 0, 1], range(5), [4, 1, 3], [0], [2, 3], [0, 1, 2]):
        if running is None:  # request 3 is done, and another one gets its blocks and writes to the slot it wrote last
            lengths[3] += rng.randint(0, 3)
            tokens = [n for n in range(TOKENS) if n != paged.last[3]]
            paged.run([paged.item(3, rng.choices(tokens, k=lengths[3]), 0)], graph=False)
            continue
        items = [paged.item(r, [rng.randrange(TOKENS)], lengths[r]) for r in running]
        for r in running:
            lengths[r] += 1
        paged.run(items, graph=len(items) < 5)
        paged.cache_is_right()


def test_BucketRunner_capture_leaves_the_cache_alone(check, rng):
    """A capture changes no block in use, although the buffers still hold the slots of the last batch."""

    def last_batch(paged):
        return [paged.item(r, [rng.randrange(TOKENS)], rng.randint(0, 18)) for r in range(4)]

    paged = Paged(check, rng, 4, poison=False, used=last_batch)
    paged.capture([1, 3, 4])
    paged.cache_is_right()
    paged.run([paged.item(r, [rng.randrange(TOKENS)], rng.randint(1, 18)) for r in (0, 2)], graph=True)
    paged.cache_is_right()


def test_BucketRunner_results_can_be_kept(check, rng):
    """What `run` returned stays as it is: a later run does not change it."""
    reader = Reader(check, rng, [2, 4])
    script, batches = reader.script, [decoding(rng, count) for count in (4, 3, 4)]
    kept = [
        script.keep(reader.runner, "run", script.scene("batch_of", items, as_="batch"), as_=f"rows_{i}")
        for i, items in enumerate(batches)
    ]
    for items, rows in zip(batches, kept, strict=True):
        script.ask_scene("read", rows, want=oracle.read(items, reader.factor, 4))


def test_BucketRunner_large_before_small(check, rng):
    """The graphs are captured from the largest size to the smallest.

    The step gives each token, and the size of the run before that had another size, which stays in a graph.
    """
    script, sizes = check.script(), sorted(rng.sample(range(2, 9), 3))
    step = script.scene("remembering_step", as_="step")
    runner = script.make("BucketRunner", step, script.scene("step_buffers", 9, as_="buffers"), sizes, as_="runner")
    script.keep(runner, "capture", as_="captured")
    for size, larger in ((sizes[1], sizes[2]), (sizes[0], sizes[1])):
        items = decoding(rng, size if size - 1 in sizes else size - rng.randint(0, 1))
        want = torch.tensor([[tokens[0], larger] for tokens, *_ in items])
        script.ask(runner, "run", script.scene("batch_of", items, as_="batch"), want=want)


def test_BucketRunner_one_pool(check, rng):
    """All graphs are captured in one memory pool: a runner of several sizes makes one."""
    reader = Reader(check, rng, sorted(rng.sample(range(1, 9), 3)), capture=False)
    script = reader.script
    before = script.scene("pools_so_far", as_="before")
    reader.runner = script.make("BucketRunner", reader.step, reader.buffers, reader.sizes, as_="runner")
    reader.capture()
    script.ask_scene("new_pools", before, want=1)
    reader.graph(decoding(rng, min(reader.sizes)))


def test_BucketRunner_sizes_in_any_order(check, rng):
    """The sizes may come in any order, and one of them twice."""
    sizes = rng.choice(([5, 3, 8, 1], [5, 1, 3, 8], [1, 5, 3, 8]))
    reader = Reader(check, rng, [*sizes, sizes[0]])
    for count in (2, 4, 8, 5):
        reader.graph(decoding(rng, count))


def test_BucketRunner_sizes_above_the_buffers(check, rng):
    """A size that the buffers do not hold is refused when the runner is made, with both numbers."""
    most = rng.randint(5, 9)
    reader = Reader(check, rng, [2, most], most=most)
    for size in (most + 1, 2 * most + 1):
        words = ["ValueError", str(size), str(most)]
        reader.script.refuses(None, "BucketRunner", reader.step, reader.buffers, [2, size], words=words)
    reader.graph(decoding(rng, most))
