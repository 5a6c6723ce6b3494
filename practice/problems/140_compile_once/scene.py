"""What problem 140's tests hand to the learner's code: settings, steps, and a compiler that leaves a mark.

No compiler can run in the sandbox. Ours runs the graph as it is and adds a number to each result: from the number one
sees which code served a call, however often and whenever that code was made.
"""

from __future__ import annotations

import copy
import logging
import string

import torch
import torch._dynamo  # seconds, so once, in the parent: not in each child

logging.getLogger("torch._guards").disabled = True  # what it says is in the error, too


def warm_up():
    """A first compilation imports and builds much that all later ones use."""
    x, w = torch.ones(3, 2), torch.ones(2, 2)
    torch._dynamo.mark_dynamic(x, 0)
    for rows in (x, w):
        torch.compile(lambda x, w: x @ w * 2 + w[0], backend="eager", dynamic=False)(rows, w)
    torch._dynamo.reset()


if not torch.cuda.is_available():  # on a GPU it would start CUDA, here in the parent
    warm_up()


# --- cache_key --------------------------------------------------------------------------------------


class Elsewhere(str):
    """A text in another process: equal, and with another hash, since Python salts the hash of a str anew each time."""

    salt = 0

    def __hash__(self):
        return str.__hash__(self) ^ self.salt


def key_of(solution, settings, ignored):
    key = solution.cache_key(settings, ignored) if ignored is not None else solution.cache_key(settings)
    if type(key) is not str:
        raise TypeError(f"cache_key returned {type(key).__name__}: a str was expected")
    return key


def same_key(solution, settings, others, ignored=None):
    before = copy.deepcopy(settings)
    same = key_of(solution, settings, ignored) == key_of(solution, others, ignored)
    return same if settings == before else f"cache_key changed its argument: {before} became {settings}"


def same_key_in_another_process(solution, settings):
    def moved(value):
        if type(value) is dict:
            return {name: moved(part) for name, part in value.items()}
        if type(value) is list:
            return [moved(part) for part in value]
        return Elsewhere(value) if type(value) is str else value

    key_of(solution, settings, None)
    try:
        texts = moved(settings)
        key_of(solution, texts, None)
    except Exception:  # it takes a str and nothing made of it, as it may: there `hash` alone is another one
        texts = settings
    space, keys = getattr(solution.cache_key, "__globals__", {}), []
    try:
        for Elsewhere.salt in (0, 0x5EED):
            space["hash"] = lambda value: hash((Elsewhere.salt, value))
            keys.append(key_of(solution, texts, None))
    finally:
        Elsewhere.salt = 0
        space.pop("hash", None)
    return keys[0] == keys[1]


def can_name_a_folder(solution, settings):
    """True, or what is in the way."""
    key = key_of(solution, settings, None)
    if bad := sorted(set(key) - {*string.ascii_letters, *string.digits, "-", "_"}):
        return f"it holds {' '.join(map(repr, bad[:3]))}"
    return "it has fewer than 8 characters" if len(key) < 8 else "it has more than 64" if len(key) > 64 else True


def different_keys(solution, settings, name, count):
    """How many different keys there are when the setting `name` takes the values 0 to count - 1."""
    return len({key_of(solution, settings | {name: number}, None) for number in range(count)})


class Hook:
    """A Python object, as some setting may hold one."""

    def __repr__(self):
        return "<Hook>"


def hook(solution):
    return Hook()


# --- compile_once -----------------------------------------------------------------------------------


class Marking:
    """A backend that compiles nothing. Code for any number of rows adds 0.5 to each result, code for n rows 100 * n;
    more than that (0.25 for each further size that is a symbol, 0.0625 for each time that such code was made before)
    means trouble."""

    def __init__(self):
        self.made = {}

    def __call__(self, graph_module, examples):
        placeholders = graph_module.graph.find_nodes(op="placeholder")
        described = [node.meta.get("example_value", node.meta.get("val")) for node in placeholders]
        shapes = [
            (meta if isinstance(meta, torch.Tensor) else given) for meta, given in zip(described, examples, strict=True)
        ]
        shapes = [tensor.shape for tensor in shapes if isinstance(tensor, torch.Tensor)]
        rows, symbols = shapes[0][0], sum(isinstance(size, torch.SymInt) for shape in shapes for size in shape)
        if isinstance(rows, torch.SymInt):
            rows, symbols = None, symbols - 1
        before = self.made[rows] = self.made.get(rows, -1) + 1
        mark = (0.5 if rows is None else 100.0 * rows) + 0.25 * symbols + 0.0625 * before

        def code(*args):
            result = graph_module(*args)
            return result + mark if isinstance(result, torch.Tensor) else type(result)(part + mark for part in result)

        return code


def marking_backend(solution):
    return Marking()


STEP = """
def make(scale):
    def step(x, w, b):
        return x @ w * scale + b
    return step
"""


def steps(solution, scales):
    """One function for each scale, all made by the same lines of code, as the layers of a model are."""
    solution.compile_once  # noqa: B018  if it is missing, that is said before anything else goes wrong
    torch._dynamo.reset()  # it remembers which sizes of a function have changed, by its name and line
    space = {}
    exec(STEP, space)  # new code, which torch has never seen
    return [space["make"](scale) for scale in scales]


def step(solution, scale):
    return steps(solution, [scale])[0]


def each_compiled(solution, steps):
    """The steps compiled, each by itself, with a backend of its own."""
    return [solution.compile_once(step, Marking()) for step in steps]


def kept(solution, x):
    """A tensor that stays, so that several calls get the very same one."""
    return x


def call(solution, compiled, number, x, w, b):
    return compiled[number](x, w, b)
