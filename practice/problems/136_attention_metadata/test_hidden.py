"""Hidden tests of problem 136. Inputs are drawn for each run; the docstrings are shown to the learner.

Nothing that the functions return is looked at, only the memory that they were given: what is in it, and what a graph
computes that was captured on it before.
"""

import oracle
import torch

BLOCK = oracle.BLOCK
TOKENS = 20
CLOSE = 5e-5  # half precision is further off


def some(rng, count, least=1, most=99):
    return [rng.randint(least, most) for _ in range(count)]


def mixed(rng, count, width, most_tokens=5):
    """Items of `count` requests: some decode one token, some are in their prompt; any blocks."""
    items = []
    for _ in range(count):
        n = rng.choice((1, 1, rng.randint(2, most_tokens)))
        computed = rng.randint(0, width * BLOCK - n)
        items.append((some(rng, n), computed, some(rng, -(-(computed + n) // BLOCK)), True))
    return items


def tokens_of(items):
    return sum(len(tokens) for tokens, *_ in items)


# -- write_rows ---------------------------------------------------------------------------------------------------


def test_write_rows_values_then_padding(check, rng):
    """The values come first, and behind them stands the padding, up to the size; the list of values is only read."""
    for padding in (-1, 0, rng.randint(5, 50)):
        script = check.script()
        count, size = rng.randint(1, 4), rng.randint(5, 8)
        array, values = script.scene("array", some(rng, 10)), some(rng, count)
        given = script.scene("given", values, as_="values")
        script.make("write_rows", array, given, size, padding, as_="written")
        script.ask_scene("numbers", array, size, want=oracle.rows(values, size, padding))
        script.ask_scene("read", given, want=values)


def test_write_rows_shorter_after_longer(check, rng):
    """Nothing of a longer batch stays, at any size that comes afterwards."""
    script = check.script()
    array = script.scene("array", some(rng, 9))
    for count, size in ((8, 9), (2, 4), (3, 8), (1, 9), (6, 6), (2, 8)):
        values = some(rng, count)
        script.make("write_rows", array, values, size, -1, as_="written")
        script.ask_scene("numbers", array, size, want=oracle.rows(values, size, -1))


def test_write_rows_full_and_empty(check, rng):
    """As many values as rows need no padding; without any value, all is padding. Values may be an array, too."""
    script = check.script()
    size = rng.randint(3, 6)
    array, values = script.scene("array", some(rng, size)), some(rng, size)
    script.make("write_rows", array, values, size, -1, as_="written")
    script.ask_scene("numbers", array, size, want=values)
    script.make("write_rows", array, [], size, 7, as_="written")
    script.ask_scene("numbers", array, size, want=[7] * size)
    values = some(rng, size - 1)
    script.make("write_rows", array, script.scene("array", values, as_="values"), size, 0, as_="written")
    script.ask_scene("numbers", array, size, want=[*values, 0])


def test_write_rows_too_many_values(check, rng):
    """More values than rows are refused with both numbers, also where the array is longer; nothing is written."""
    script = check.script()
    size, before = rng.randint(3, 6), some(rng, 9)
    array = script.scene("array", before)
    for more in (1, 3):
        words = ["ValueError", str(size + more), str(size)]
        script.refuses(None, "write_rows", array, some(rng, size + more), size, -1, words=words)
        script.ask_scene("numbers", array, 9, want=before)


# -- write_tables -------------------------------------------------------------------------------------------------


def lists_of_blocks(rng, count, width):
    """Tables of different lengths, one of them as wide as it may be."""
    lengths = [width, *some(rng, count - 1, 1, width)]
    rng.shuffle(lengths)
    return [some(rng, n) for n in lengths]


def test_write_tables_a_row_for_each_request(check, rng):
    """Each request's blocks stand at the front of its row, and behind them the null block; up to the full width."""
    for count in (1, 2, 5):
        script = check.script()
        width = rng.randint(3, 5)
        table = script.scene("array", [some(rng, width) for _ in range(count)], as_="table")
        lists = lists_of_blocks(rng, count, width)
        script.make("write_tables", table, lists, count, as_="written")
        script.ask_scene("numbers", table, count, want=oracle.tables(lists, count, width))


def test_write_tables_rows_of_padding(check, rng):
    """Rows behind the last request hold only the null block, all rows if there is none; the lists are only read."""
    script = check.script()
    width, size = rng.randint(2, 5), rng.randint(4, 6)
    table = script.scene("array", [some(rng, width) for _ in range(6)], as_="table")
    lists = [*lists_of_blocks(rng, rng.randint(1, 2), width), some(rng, rng.randint(1, width - 1))]  # one is shorter
    given = script.scene("given", lists, as_="block_tables")
    script.make("write_tables", table, given, size, as_="written")
    script.ask_scene("numbers", table, size, want=oracle.tables(lists, size, width))
    script.ask_scene("read", given, want=lists)
    script.make("write_tables", table, [], size, as_="written")
    script.ask_scene("numbers", table, size, want=oracle.tables([], size, width))


def test_write_tables_shorter_after_longer(check, rng):
    """Neither columns nor rows of an earlier batch stay."""
    script = check.script()
    table = script.scene("array", [some(rng, 4) for _ in range(6)], as_="table")
    for count, size, widest in ((6, 6, 4), (2, 4, 2), (1, 6, 1), (5, 5, 3), (3, 6, 2)):
        lists = [some(rng, rng.randint(1, widest)) for _ in range(count)]
        script.make("write_tables", table, lists, size, as_="written")
        script.ask_scene("numbers", table, size, want=oracle.tables(lists, size, 4))


def test_write_tables_too_wide(check, rng):
    """A request with more blocks than the table has columns is refused with both numbers, and nothing is written."""
    script = check.script()
    width = rng.randint(3, 5)
    before = [some(rng, width) for _ in range(4)]
    table = script.scene("array", before, as_="table")
    for more in (1, 2):
        lists = [some(rng, 2), some(rng, width + more), some(rng, 1)]
        words = ["ValueError", str(width + more), str(width)]
        script.refuses(None, "write_tables", table, lists, 4, words=words)
        script.ask_scene("numbers", table, 4, want=before)


def test_write_tables_too_many_requests(check, rng):
    """More requests than the size are refused with both numbers, and nothing is written."""
    script = check.script()
    count, size = rng.randint(4, 5), rng.randint(2, 3)
    before = [some(rng, 3) for _ in range(6)]
    table = script.scene("array", before, as_="table")
    lists = [some(rng, rng.randint(1, 3)) for _ in range(count)]
    script.refuses(None, "write_tables", table, lists, size, words=["ValueError", str(count), str(size)])
    script.ask_scene("numbers", table, 6, want=before)


# -- write_metadata -----------------------------------------------------------------------------------------------


class Buffers:
    """Fixed tensors in a script."""

    def __init__(self, check, tokens, requests, width):
        self.script, self.width = check.script(), width
        self.fixed = self.script.scene("fixed_tensors", tokens, requests, width, as_="fixed")
        self.arrays = self.script.scene("arrays_of", self.fixed, as_="arrays")

    def write(self, items, tokens, requests):
        batch = self.script.scene("batch_of", items, as_="batch")
        self.script.make("write_metadata", self.arrays, batch, tokens, requests, as_="written")
        return batch

    def hold(self, items, tokens, requests):
        want = oracle.metadata(items, tokens, requests, self.width)
        self.script.ask_scene("metadata", self.fixed, tokens, requests, want=want)


def test_write_metadata_padded(check, rng):
    """Prompts and decodes are padded in both directions, to more tokens and more requests; the batch is only read."""
    for _ in range(2):
        buffers = Buffers(check, 24, 6, 4)
        items = mixed(rng, rng.randint(2, 4), 4)
        tokens, requests = rng.randint(tokens_of(items) + 1, 24), rng.randint(len(items) + 1, 6)
        batch = buffers.write(items, tokens, requests)
        buffers.hold(items, tokens, requests)
        exact = oracle.metadata(items, tokens_of(items), len(items), 4)
        want = [exact["seq_lens"], exact["query_start_loc"], [table for _, _, table, _ in items]]
        buffers.script.ask_scene("lists_of", batch, want=want)


def test_write_metadata_unpadded(check, rng):
    """A batch that fills its graph exactly, and one that fills the arrays exactly."""
    buffers = Buffers(check, 16, 4, 4)
    items = mixed(rng, rng.randint(2, 3), 4)
    buffers.write(items, tokens_of(items), len(items))
    buffers.hold(items, tokens_of(items), len(items))
    full = mixed(rng, 3, 4)
    rest = 16 - tokens_of(full)
    full.append((some(rng, rest), 16 - rest, some(rng, 4), True))
    buffers.write(full, 16, 4)
    buffers.hold(full, 16, 4)


def test_write_metadata_nothing_of_the_batch_before(check, rng):
    """Batches grow and shrink in the same arrays, in graphs of different sizes: each finds its own, and padding."""
    buffers = Buffers(check, 24, 6, 4)
    for count, tokens, requests in ((4, 24, 6), (1, 8, 3), (2, 16, 6), (4, 20, 4), (3, 24, 5)):
        items = mixed(rng, count, 4)
        buffers.write(items, tokens, requests)
        buffers.hold(items, tokens, requests)


def test_write_metadata_under_a_graph(check, rng):
    """A graph that was captured before computes the right attention for every batch, and harms no block in use.

    The graph is for 12 tokens of up to 4 requests. The null block and slots that were not written yet hold nan.
    """
    draw = torch.Generator().manual_seed(rng.getrandbits(32))
    embedding, places = torch.randn(TOKENS, 24, generator=draw), torch.randn(16, 24, generator=draw)
    k = torch.full((17, BLOCK, 2, 4), float("nan"))
    buffers, attention = Buffers(check, 16, 5, 4), oracle.Attention(embedding, places, k, k.clone())
    script = buffers.script
    kv = script.scene("cache", k, k, as_="kv")
    graph = script.scene("attending_graph", buffers.fixed, 12, 4, embedding, places, kv, as_="graph")
    order = list(range(1, 17))
    rng.shuffle(order)
    blocks, length = [order[r::4] for r in range(4)], [0] * 4
    steps = [{0: 3, 1: 5, 2: 1, 3: 2}, {1: 1, 3: 1}, {2: 4}, {0: 1, 1: 1, 2: 2, 3: 1}, {0: 3, 3: 4}, {1: 1}]
    for new in steps:
        items = []
        for r, n in new.items():
            table = blocks[r][: -(-(length[r] + n) // BLOCK)]
            items.append((some(rng, n, 0, TOKENS - 1), length[r], table, True))
            length[r] += n
        batch = buffers.write(items, 12, 4)
        script.ask(graph, "replay", batch, want=attention.run(items), tolerance=CLOSE)
        script.ask_scene("blocks_of", kv, want=attention.blocks(), tolerance=CLOSE)


def test_write_metadata_what_does_not_fit(check, rng):
    """Too many tokens, requests, or blocks of a request: refused with both numbers, and nothing at all is written."""
    buffers = Buffers(check, 24, 6, 3)
    first = mixed(rng, 4, 3)
    buffers.write(first, 24, 6)
    before = oracle.metadata(first, 24, 6, 3)
    wide = [([5], 0, [1], True), ([6], 3 * BLOCK, some(rng, 4), True)]
    tokens = rng.randint(8, 11)
    long = [(some(rng, tokens), 0, some(rng, 3), True)]
    for items, num_tokens, num_reqs, words in (
        (wide, 8, 4, ["4", "3"]),
        (long, tokens - 1, 2, [str(tokens), str(tokens - 1)]),
        (mixed(rng, 4, 3, most_tokens=2), 16, 3, ["4", "3"]),
    ):
        batch = buffers.script.scene("batch_of", items, as_="batch")
        words = ["ValueError", *words]
        buffers.script.refuses(None, "write_metadata", buffers.arrays, batch, num_tokens, num_reqs, words=words)
        buffers.script.ask_scene("everything", buffers.fixed, want=before)
