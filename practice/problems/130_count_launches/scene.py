"""Steps to count: a few operators in a row, or a tiny model with its cache. What the learner's code is given."""

import weakref
from collections import Counter

import torch
import torch._inductor.config  # the profiler imports it when it first starts: here once for all tests
import torch.nn.functional as F

from mini_llm.cache import KVCache
from mini_llm.config import Config
from mini_llm.launches import OperatorCount
from mini_llm.model import Transformer

CALLS = {  # each is one call of the operator `aten::name`, whatever that calls inside
    "add": lambda x: x + 1,
    "mul": lambda x: x * 2,
    "pow": lambda x: x.pow(2),
    "mean": lambda x: x.mean(-1),
    "linear": lambda x: F.linear(x, x),
    "matmul": lambda x: x @ x,
    "softmax": lambda x: x.softmax(-1),
    "silu": lambda x: F.silu(x),
    "layer_norm": lambda x: F.layer_norm(x, (4,)),
    "cat": lambda x: torch.cat((x, x)),
    "repeat_interleave": lambda x: x.repeat_interleave(2, dim=0),
    "view": lambda x: x.view(-1),
    "transpose": lambda x: x.transpose(0, 1),
    "reshape": lambda x: x.reshape(2, 8),
    "to": lambda x: x.to(torch.float64),
}


_ran = weakref.WeakKeyDictionary()  # {step: how often}


def _step(names, fails=None):
    """Calls the operators `names` on x [4, 4], then `also`; with gradients, one more; and one inside a mark. What it is
    made of is no attribute of it: whoever wants to know has to count."""

    def call(x, also=()):
        _ran[call] += 1
        with torch.profiler.record_function("a step"):
            x.neg()  # a mark in the profile is an event and no operator; what runs inside it is not top-level
        for name in [*names, *also, *(["mul"] if torch.is_grad_enabled() else [])]:
            CALLS[name](x)
        if fails:
            raise ValueError(fails)

    _ran[call] = 0
    return call


def step(solution, names):
    _tidy()
    return _step(names)


def failing_step(solution, names, message):
    _tidy()
    return _step(names, message)


def runs(solution, step):
    return _ran[step]


def model(solution, layers, qk_norm):
    return Transformer.random(Config(17, 12, 8, layers, 2, 1, qk_norm=qk_norm))


def filled_cache(solution, model, ids):
    """The cache after a prefill of ids [1, T], with the model moved to where they are."""
    cache = KVCache(model.cfg.num_hidden_layers)
    with torch.no_grad():
        model.to(ids.device)(ids, cache)
    return cache


def tokens_in(solution, cache):
    return cache.length


def _tidy():
    """Known mistakes are asked one after another in one process: what the one before left behind is not this one's."""
    torch.set_grad_enabled(True)
    if torch.autograd._profiler_enabled():
        torch.autograd._disable_profiler()


def left_behind(solution):
    """What a count left on that was off before it, or off that was on."""
    found = [] if torch.is_grad_enabled() else ["gradients are off"]
    return found + ["the profiler runs"] * torch.autograd._profiler_enabled()


def histogram(solution, count):
    if type(count).__name__ != OperatorCount.__name__:
        raise TypeError(f"count_operators must return an OperatorCount, not {type(count).__name__}")
    if not isinstance(count.histogram, Counter):
        return f"{type(count.histogram).__name__}, not a Counter"
    return dict(count.histogram)
