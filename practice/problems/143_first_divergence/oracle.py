"""The answers number by number, in plain Python; and a small server whose steps go wrong where a test wants it.

Lives in the judge's process only, where `mini_llm` is the reference. Each engine runs the same tiny model over a paged
cache of its own, layer by layer, and keeps what each layer gave.
"""

from __future__ import annotations

import contextlib
import math
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import torch

ROOT = str(Path(__file__).resolve().parents[3])
if ROOT not in sys.path:
    sys.path.append(ROOT)
from mini_llm.config import Config  # noqa: E402
from mini_llm.model import Transformer  # noqa: E402
from mini_llm.paged import PagedKVCache, paged_attention, slot_mapping_for  # noqa: E402
from mini_llm.step import hidden_states  # noqa: E402

EPS = {torch.float64: 2.0**-52, torch.float32: 2.0**-23, torch.bfloat16: 2.0**-7, torch.float16: 2.0**-10}
BLOCK, BLOCKS, PADDED = 4, 40, 12

# -- the answers ----------------------------------------------------------------------------------------------------


def distances(reference, other):
    """For each row, its largest difference as a multiple of what still counts as rounding."""
    eps, found = 16 * max(EPS[reference.dtype], EPS[other.dtype]), []
    for a, b in zip(reference.tolist(), other.tolist(), strict=False):
        limit = eps * max(abs(x) for x in a)
        worst = 0.0
        for x, y in zip(a, b, strict=True):
            gap = math.inf if math.isnan(y) else abs(x - y)
            worst = max(worst, gap / limit if limit else (math.inf if gap else 0.0))
        found.append(worst)
    return found


def diverging_rows(reference, other):
    return [row for row, far in enumerate(distances(reference, other)) if far > 1]


def first_divergence(reference, other):
    for layer in range(len(reference)):
        if diverging_rows(reference[layer], other[layer]):
            return layer
    return None


def name_cause(reference, other, before, slot_mapping, query_start_loc, block_tables, block_size):
    layer = first_divergence(reference, other)
    if layer is None:
        numbers = [(a.tolist(), b.tolist()[: len(a)]) for a, b in zip(reference, other, strict=True)]
        return "same" if all(a == b for a, b in numbers) else "rounding"
    now, then = other[layer].tolist(), before[layer].tolist()
    rows = diverging_rows(reference[layer], other[layer])
    if all(now[row : row + 1] == then[row : row + 1] for row in rows):
        return "stale buffer"
    for request, table in enumerate(block_tables):
        own = range(query_start_loc[request], query_start_loc[request + 1])
        live = {block * block_size + i for block in table if block > 0 for i in range(block_size)}
        if not live.isdisjoint(slot_mapping[query_start_loc[-1] :]):
            rows = [row for row in rows if row not in own]
    return "unknown" if rows else "padding in a live block"


# -- the server -----------------------------------------------------------------------------------------------------


@dataclass
class Step:
    """One batch, as lists: new tokens of each request, padded rows behind them."""

    tokens: list[list[int]]
    lengths: list[int]  # tokens that each request has in the cache before
    tables: list[list[int]]
    padded: int = 0  # rows in all, or 0 for no padding
    pad_slots: list[int] = field(default_factory=list)  # where padding writes; else nowhere
    from_layer: int = 0  # from which layer on it writes there
    shift: dict[int, int] = field(default_factory=dict)  # request -> wrong by so many positions

    @property
    def starts(self):
        starts = [0]
        for some in self.tokens:
            starts.append(starts[-1] + len(some))
        return starts

    @property
    def slots(self):
        slots = []
        for some, length, table in zip(self.tokens, self.lengths, self.tables, strict=True):
            slots += slot_mapping_for(table, range(length, length + len(some)), BLOCK)
        return slots


@contextlib.contextmanager
def one_thread():
    """Threads of tiny operators cost more than they save, a hundred times more on a busy machine."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def model(rng, layers, dtype):
    cfg = Config(48, 16, 24, layers, 4, 2)
    made = Transformer(cfg)
    generator = torch.Generator().manual_seed(rng.randrange(2**31))
    for name, weight in made.named_parameters():
        scale = 1.0 if weight.dim() < 2 or "embed" in name else weight.shape[1] ** -0.5
        with torch.no_grad():
            weight.normal_(0, scale, generator=generator) if "norm" not in name else weight.fill_(1)
    # what all engines hold is rounded to the dtype that the server runs in
    return made.to(dtype).requires_grad_(False)


class Engine:
    """Runs steps of a model in one dtype and hands out each layer's output, cast to `gives`."""

    def __init__(self, model, dtype, gives):
        self.model, self.dtype, self.gives = Transformer(model.cfg).to(dtype).requires_grad_(False), dtype, gives
        self.model.load_state_dict(model.state_dict())
        cfg = model.cfg
        self.kv = PagedKVCache(cfg.num_hidden_layers, BLOCKS, BLOCK, cfg.num_key_value_heads, cfg.hd, dtype)

    def run(self, step, stale=None):
        """The outputs of all layers; `stale` is (layer, rows, outputs to show there in their place)."""
        rows = max(step.padded, step.starts[-1])
        pad = rows - step.starts[-1]
        ids = torch.tensor([t for some in step.tokens for t in some] + [0] * pad)
        positions = []
        for r, (some, length) in enumerate(zip(step.tokens, step.lengths, strict=True)):
            positions += [length + i + step.shift.get(r, 0) for i in range(len(some))]
        positions = torch.tensor(positions + [0] * pad)
        lens = [length + len(some) for some, length in zip(step.tokens, step.lengths, strict=True)]
        scale, outputs, x = self.model.cfg.hd**-0.5, [], self.model.embed_tokens(ids)
        for number, layer in enumerate(self.model.layers):
            slots = step.slots + [-1] * pad
            if step.pad_slots and number >= step.from_layer:
                slots[step.starts[-1] :] = step.pad_slots

            def attention(q, k, v, n, slots=slots):
                self.kv.write(n, torch.tensor(slots), k, v)
                return paged_attention(q, self.kv, n, step.tables, lens, step.starts, scale)

            one = SimpleNamespace(cfg=self.model.cfg, embed_tokens=lambda _, x=x: x, layers=[layer], norm=lambda x: x)
            x = hidden_states(one, ids, positions, attention)
            if stale and stale[0] == number:
                x = x.clone()
                for row in stale[1]:
                    x[row] = stale[2][number][row].to(x.dtype)
            outputs.append(x.to(self.gives))
        return outputs


def traffic(rng, mixed):
    """(the step of the prompts, the step before, this step); a mixed step has a piece of a prompt in it."""
    requests = rng.randint(3, 5)
    order = rng.sample(range(1, BLOCKS), BLOCKS - 1)
    lengths = [rng.randint(3, 9) for _ in range(requests)]
    needs = [-(-(length + 8) // BLOCK) for length in lengths]
    # all tables as wide as the widest: behind a request's own blocks stands the null block
    tables = [[order.pop() for _ in range(n)] + [0] * (max(needs) - n) for n in needs]
    counts = [1] * requests
    if mixed:
        counts[rng.randrange(requests)] = rng.randint(2, 4)

    def words(counts):
        return [[rng.randrange(48) for _ in range(n)] for n in counts]

    prompts = Step(words(lengths), [0] * requests, tables)
    before = Step(words([1] * requests), lengths, tables, PADDED)
    return prompts, before, Step(words(counts), [n + 1 for n in lengths], tables, PADDED)


class Server:
    """A reference engine and one under suspicion, which gives the same up to rounding, or to the bit."""

    @one_thread()
    def __init__(self, rng, dtype=torch.float32, rounding=True):
        self.layers, self.rounding = rng.randint(3, 5), rounding
        made = model(rng, self.layers, dtype)
        finer = {torch.float32: torch.float64, torch.bfloat16: torch.float32}[dtype]
        self.right, self.wrong = Engine(made, dtype, dtype), Engine(made, finer if rounding else dtype, dtype)

    @one_thread()
    def case(self, rng, fault=None, mixed=False):
        """(reference, other, before, slot_mapping, query_start_loc, block_tables, block_size) with a planted fault.

        Drawn again until what is meant to differ does so by far, and the rest does not: then every way to compute the
        answer gives the same one.
        """
        while True:
            prompts, before, now = traffic(rng, mixed)
            for engine in (self.right, self.wrong):
                engine.run(prompts)
            self.right.run(before)
            outputs_before = self.wrong.run(before)
            faulty, stale, slots, meant = plant(rng, fault, now, outputs_before, self.layers)
            reference = [each[: now.starts[-1]].clone() for each in self.right.run(now)]
            other = self.wrong.run(faulty, stale)
            found = [distances(a, b) for a, b in zip(reference, other, strict=True)]
            first = next((i for i, far in enumerate(found) if max(far) > 0.5), None)
            if (first is None) != (fault is None):
                continue
            if first is None and self.rounding == all(max(far) == 0 for far in found):
                continue
            if first is not None and {row for row, far in enumerate(found[first]) if far > 0.5} != meant:
                continue
            if first is not None and any(0.5 < far < 3 for far in found[first]):
                continue
            return reference, other, outputs_before, slots, now.starts, [list(t) for t in now.tables], BLOCK


def plant(rng, fault, now, before, layers):
    """(the step as the faulty engine runs it, stale outputs or None, the slots it used, the rows meant to differ)"""
    total, requests = now.starts[-1], len(now.tokens)
    pad = PADDED - total
    step = Step(now.tokens, now.lengths, now.tables, PADDED)
    quiet = [rng.choice((-1, rng.randrange(BLOCK))) for _ in range(pad)]  # nowhere, or the null block
    if fault not in (None, "padding", "padding two", "position"):  # there a mistake about the null block must show
        quiet = [-1] * pad
    layer, stale, meant = rng.randrange(layers), None, None
    step.pad_slots, step.from_layer = quiet, 0
    request = rng.randrange(requests)

    def live(of, at):
        return slot_mapping_for(now.tables[of], [at], BLOCK)[0]

    kind = (fault or "").split()
    if "first" in kind:
        layer = 0
    if "last" in kind or "early" in kind:
        layer = layers - 1 if "last" in kind else rng.randrange(layers - 1)
    if kind[:1] == ["stale"]:
        rows = list(range(requests)) if "all" in kind else sorted(rng.sample(range(requests), rng.randint(1, 2)))
        stale = (layer, rows, before)
        meant = set(rows)
        if "shifted" in kind:  # rows of the step before, each in another's place
            stale = (layer, rows, [each.roll(1, 0) for each in before])
        if "nearly" in kind:
            stale = (layer, rows, [each + 0.01 * each.abs().amax() for each in before])
        if "partly" in kind:  # and one more row is wrong in another way
            more = rng.choice([r for r in range(total) if r not in rows])
            shown = [each.clone() for each in before]
            shown[layer][more] = -2 * shown[layer][more] + 1
            stale, meant = (layer, [*rows, more], shown), {*rows, more}
    if "padding" in kind:
        hurt = [0 if "oldest" in kind else request]
        if "two" in kind:
            hurt = rng.sample(range(requests), 2)
        step.from_layer = layer
        places = rng.sample(range(pad), len(hurt))
        step.pad_slots = list(quiet)
        for place, of in zip(places, hurt, strict=True):
            step.pad_slots[place] = live(of, rng.randrange(now.lengths[of] - 1))
        meant = {row for of in hurt for row in range(now.starts[of], now.starts[of + 1])}
        if "oldest" in kind and set(step.pad_slots) & set(now.tables[0]):  # a slot must not pass for a block
            meant = None
        if "and" in kind:  # a row of another request is wrong besides
            another = rng.choice([r for r in range(requests) if r not in hurt])
            step.shift, step.from_layer = {another: rng.randint(2, 5)}, 0
            meant |= set(range(now.starts[another], now.starts[another + 1]))
    if "position" in kind:
        step.shift = {request: rng.randint(2, 5)}
        meant = set(range(now.starts[request], now.starts[request + 1]))
        step.pad_slots = list(quiet)
        if kind == ["position"]:  # of a request whose table ends with the null block, into which padding wrote
            step.pad_slots = [0, *(rng.choice((-1, 0)) for _ in range(pad - 1))]
            meant = meant if 0 in now.tables[request] else None
        if "elsewhere" in kind:  # padding in a block of somebody whose rows are right: beyond what is read
            another = rng.choice([r for r in range(requests) if r != request])
            free = len([b for b in now.tables[another] if b]) * BLOCK - 1
            step.pad_slots[rng.randrange(pad)] = live(another, free)
        if "free" in kind:  # in a block that nobody has now
            used = {b for table in now.tables for b in table}
            step.pad_slots[rng.randrange(pad)] = BLOCK * rng.choice([b for b in range(BLOCKS) if b not in used])
    return step, stale, now.slots + step.pad_slots, meant
