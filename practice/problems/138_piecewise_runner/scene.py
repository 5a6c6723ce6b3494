"""What problem 138's tests hand to the learner's code: pieces that hold Python numbers, and a tiny model in pieces."""

from __future__ import annotations

import weakref
from collections import Counter

from pools import new_pools, pools_so_far  # noqa: F401  two of the scene's functions

from mini_llm.attention import ReferenceBackend, attend
from mini_llm.batch import StepBuffers, build_batch
from mini_llm.graphs import new_pool
from mini_llm.paged import PagedKVCache
from mini_llm.piecewise import Piece

BLOCK = 4  # slots of a block
NUMBERS = {"shift": 0}  # a global that pieces read


def ready(solution, *names):
    for name in names:  # a name that is missing is said before anything else goes wrong
        getattr(solution, name)


# --- pieces that are written down -------------------------------------------------------------------


class NotRunYet(Exception):
    """A piece with `splits` ran before the first replay."""


class NoBatch(Exception):
    """Attention was given inputs that say nothing about a batch."""


class NoCache(Exception):
    """A fused piece would write to a cache, and was told of none."""


class Mixing:
    """Its j-th output is factor * (x0 + 2 * x1 + 3 * x2 ...) + shift + j: `factor` and `shift` are Python numbers."""

    def __init__(self, factor, outputs):
        self.factor, self.outputs = factor, outputs

    def __call__(self, *inputs):
        total = sum((place + 1) * x for place, x in enumerate(inputs))
        return tuple(total * self.factor + (self.shift() + j) for j in range(len(self.outputs)))

    def shift(self):
        return NUMBERS["shift"]


class Counting(Mixing):
    """Adds 1 in place to its first input, which it also hands on, times its number."""

    def __call__(self, total, *inputs):
        total.add_(1)
        return (total * self.factor,)


def live(run):
    """For a piece with `splits`: it looks at numbers on the host, and there are none before the first batch."""

    class Live(type(run)):
        def shift(self):
            return 0

        def __call__(self, *inputs):
            if self.factor is None:
                raise NotRunYet("a piece with `splits` was run before there was a batch: only a replay may run it")
            inputs[0].tolist()
            return super().__call__(*inputs)

    return Live(run.factor, run.outputs)


class Remembering(Mixing):
    """Adds 1000 for each value that should be gone by now."""

    def __init__(self, factor, outputs, made, gone):
        super().__init__(factor, outputs)
        self.made, self.gone = made, gone

    def __call__(self, *inputs):
        alive = sum(name in self.made and self.made[name]() is not None for name in self.gone)
        outputs = tuple(out + 1000 * alive for out in super().__call__(*inputs))
        self.made.update(zip(self.outputs, map(weakref.ref, outputs), strict=True))
        return outputs


def pieces(solution, described):
    """Pieces from what is written down: inputs, outputs, last_uses, factor, splits or counts, gone."""
    made, result = {}, []
    NUMBERS["shift"] = 0
    for text in described:
        outputs, factor, splits = tuple(text["outputs"]), text["factor"], text.get("splits", False)
        if "gone" in text:
            run = Remembering(factor, outputs, made, text["gone"])
        else:
            run = (Counting if text.get("counts") else Mixing)(factor, outputs)
            run = live(run) if splits else run
        result.append(Piece(None, run, tuple(text["inputs"]), outputs, splits, tuple(text["last_uses"])))
    return result


def set_factors(solution, pieces, factors, shift=0):
    """Other Python numbers from here on."""
    NUMBERS["shift"] = shift
    for piece, factor in zip(pieces, factors, strict=True):
        piece.run.factor = factor


def values(solution, **tensors):
    """The values that are there before the first piece."""
    return {name: tensor.clone() for name, tensor in tensors.items()}


def write(solution, values, **tensors):
    """New numbers in the memory of these values."""
    for name, tensor in tensors.items():
        values[name].copy_(tensor)


def read(solution, values, *names):
    return [values[name].clone() for name in names]


def names_of(solution, values):
    return sorted(values)


def run_and_read(solution, pieces, values, *names):
    """What `run_pieces` leaves behind: all names, and some of the values."""
    left = solution.run_pieces(pieces, values)
    if not isinstance(left, dict):
        raise TypeError(f"run_pieces returned {type(left).__name__}: a dict was expected, from names to values")
    return [sorted(left), [left[name] for name in names if name in left]]


def replay_and_read(solution, captured, *names):
    """What `replay` leaves behind: all names, and some of the values."""
    left = captured.replay()
    if not isinstance(left, dict):
        raise TypeError(f"replay returned {type(left).__name__}: a dict was expected, from names to values")
    return [sorted(left), [left[name].clone() for name in names if name in left]]


# --- a tiny model -----------------------------------------------------------------------------------


class TinyStep:
    """A step in pieces, as SplitStep has them: layers of attention and a sum, times the Python number `gain`."""

    result = "hidden"

    def __init__(self, weights, layers, heads, writes_cache):
        self.weights, self.layers, self.heads, self.writes_cache = weights, layers, heads, writes_cache
        self.gain, self.ranked, self.seen, self.kv = 1.0, False, [], None
        self.runs, self.rows_of_head = Counter(), None
        qkv0 = ("q_0", "k_0", "v_0")
        given = ("input_ids", "positions", "slot_mapping")
        self.pieces = [Piece(None, self.first, given + ("embed", "places", "q0", "k0", "v0"), ("x_0", *qkv0), False)]
        for i in range(self.layers):
            qkv = (f"q_{i}", f"k_{i}", f"v_{i}")
            self.pieces.append(Piece(None, self.attention(i), qkv, (f"a_{i}",), True, qkv))
            used = (f"a_{i}", f"x_{i}")
            if i < self.layers - 1:
                n = i + 1
                weights_of = (f"o{i}", f"q{n}", f"k{n}", f"v{n}")
                made = (f"x_{n}", f"q_{n}", f"k_{n}", f"v_{n}")
                self.pieces.append(
                    Piece(None, self.between(n), (*used, "slot_mapping", *weights_of), made, False, used)
                )
            else:
                self.pieces.append(Piece(None, self.last, (*used, f"o{i}"), ("hidden",), False, used))

    def project(self, x, layer, slots, q, k, v):
        q, k, v = x @ q, x @ k, x @ v
        heads = [each.view(len(x), -1, each.shape[1] // n) for each, n in ((q, self.heads), (k, 1), (v, 1))]
        if self.writes_cache and self.kv is None:
            raise NoCache("a fused piece writes keys and values itself, and nobody has called step.use_cache(kv)")
        if self.writes_cache:
            self.kv.write(layer, slots, *heads[1:])
        return heads

    def first(self, ids, positions, slots, embed, places, q, k, v):
        self.runs[len(ids)] += 1
        if len(ids) not in self.seen:
            self.seen.append(len(ids))
        x = (embed[ids] + places[positions]) * self.gain
        return (x, *self.project(x, 0, slots, q, k, v))

    def attention(self, layer):
        def run(q, k, v):
            return (attend(q, None, None, layer) if self.writes_cache else attend(q, k, v, layer),)

        return run

    def between(self, layer):
        def run(a, x, slots, o, q, k, v):
            x = (x + a.flatten(1) @ o) * self.gain
            return (x, *self.project(x, layer, slots, q, k, v))

        return run

    def last(self, a, x, o):
        x = (x + a.flatten(1) @ o) * self.gain
        return (x + (self.seen.index(len(x)) * 100 if self.ranked else NUMBERS["shift"]),)

    def use_cache(self, kv):
        self.kv = kv

    def start(self, inputs):
        given = ("input_ids", "positions", "slot_mapping")
        return self.weights | {name: getattr(inputs, name) for name in given}

    def head(self, hidden):
        self.rows_of_head = len(hidden)
        return hidden @ self.weights["head"]

    def __call__(self, inputs):
        values = self.start(inputs)
        for piece in self.pieces:
            values.update(zip(piece.outputs, piece.run(*(values[name] for name in piece.inputs)), strict=True))
        return self.head(values["hidden"][inputs.logits_indices])


class ScaledAttention(ReferenceBackend):
    """Reads the batch as Python lists, and multiplies by a Python number."""

    scale = 1.0

    def __call__(self, q, kv, layer, inputs):
        if inputs.batch is None:
            raise NoBatch("attention was given inputs without a batch: those of `buffers.view` have none")
        return super().__call__(q, kv, layer, inputs) * self.scale


def tiny_step(solution, numbers, layers, fused=False):
    """The tiny model with these numbers as its weights; a fused one writes keys and values in its pieces."""
    ready(solution, "PiecewiseRunner")
    NUMBERS["shift"] = 0
    hidden, width, vocabulary = 8, 4, 5  # two heads
    shapes = {"embed": (9, hidden), "places": (16, hidden), "head": (hidden, vocabulary)}
    for i in range(layers):
        shapes |= {f"{name}{i}": (hidden, hidden if name in "qo" else width) for name in "qkvo"}
    parts = numbers.split([a * b for a, b in shapes.values()])
    weights = {name: part.view(shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)}
    return TinyStep(weights, layers, 2, fused)


def rows_of_the_head(solution, step):
    """How many rows `step.head` was given last."""
    return step.rows_of_head


def all_sizes_ran_as_often(solution, step):
    """Whether the first piece has run as often for each size: one that is captured twice has more runs."""
    return len(set(step.runs.values())) == 1


def scaled_attention(solution):
    return ScaledAttention()


def change(solution, thing, shift=None, **numbers):
    """Another Python number from here on: `gain` and `shift` of the step, `scale` of the attention."""
    if shift is not None:
        NUMBERS["shift"] = shift
    for name, value in numbers.items():
        if not hasattr(thing, name):
            raise AttributeError(f"{thing!r} has no {name}")
        setattr(thing, name, value)


def cache(solution, step, blocks):
    """A cache full of nan: what is read without having been written shows."""
    weights = step.weights
    kv = PagedKVCache(step.layers, blocks, BLOCK, 1, weights["k0"].shape[1], device=weights["k0"].device)
    for part in (*kv.k, *kv.v):
        part.fill_(float("nan"))
    return kv


def step_buffers(solution, step, tokens, requests):
    return StepBuffers(tokens, requests, 4, step.weights["k0"].device)


def batch(solution, items):
    """`items` are (token ids, positions computed before, block table, whether logits are wanted)."""
    return build_batch(items, BLOCK)


def written(solution, kv):
    """How many slots hold a key that is a number."""
    return int(kv.k[0].isfinite().all(-1).all(-1).sum())


def tensor(solution, value):
    return value.clone()


def pool_of(solution, captured):
    return captured.pool


def in_pool(solution, captured, pool):
    return captured.pool is pool


def empty_pool(solution, step):
    return new_pool(step.weights["k0"].device)
