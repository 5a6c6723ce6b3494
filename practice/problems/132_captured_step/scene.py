"""What problem 132's tests hand to the learner's code: steps that hold numbers and tensors, buffers, and pools."""

from __future__ import annotations

from contextlib import contextmanager

import torch

from mini_llm.graphs import new_pool

SETTINGS = {"shift": 0}  # a global that a step reads


class Weighted:
    """x, y -> scale * x + term * y + shift. Its three Python numbers live in three places."""

    def __init__(self, scale, term, shift):
        self.scale, self.terms = scale, [term]
        SETTINGS["shift"] = shift

    def __call__(self, x, y):
        return x * self.scale + y * self.terms[0] + SETTINGS["shift"]


class Nested:
    """A nest of results, one of them a view of another, one of them the input itself."""

    def __init__(self, scale):
        self.scale = scale

    def __call__(self, x, y):
        total = x * self.scale + y
        return {"total": total, "parts": (total[1:], [x - y, None, 7]), "input": y, "name": "nested"}


class Adding:
    """Adds its input and 1 to a total that it keeps, and returns scale * total."""

    def __init__(self, total, scale):
        self.total, self.scale = total, scale

    def __call__(self, x):
        self.total.add_(x + 1)
        return self.total * self.scale


class Overwriting:
    """Writes its result over its input, and returns that."""

    def __init__(self, scale):
        self.scale = scale

    def __call__(self, x):
        return x.mul_(self.scale)


class SettingUp:
    """Reads a value on the host in its first `runs` runs, as libraries do that set themselves up or tune."""

    def __init__(self, scale, runs):
        self.scale, self.left = scale, runs

    def __call__(self, x):
        if self.left:
            self.left -= 1
            x.sum().item()
        return x * self.scale


class OnStream:
    """Adds 1 to `count` where it runs on the pool's stream, 100 anywhere else; returns scale * x."""

    def __init__(self, pool, count, scale):
        self.pool, self.count, self.scale = pool, count, scale

    def __call__(self, x):
        self.count.add_(1 if on_stream(None, self.pool) else 100)
        return x * self.scale


class Failing:
    """Fails in the run with this number, the first being 1."""

    def __init__(self, run):
        self.left = run

    def __call__(self, x):
        self.left -= 1
        if not self.left:
            raise ArithmeticError("this step cannot run")


def adds_in_place(solution):
    def step(total, x):
        total.add_(x)

    return step


def weighted_step(solution, scale, term=0, shift=0):
    return Weighted(scale, term, shift)


def nested_step(solution, scale):
    return Nested(scale)


def adding_step(solution, total, scale):
    return Adding(total, scale)


def overwriting_step(solution, scale):
    return Overwriting(scale)


def step_that_sets_itself_up(solution, scale, runs):
    return SettingUp(scale, runs)


def step_that_counts_runs_on_stream(solution, pool, count, scale=1):
    return OnStream(pool, count, scale)


def step_that_fails(solution, in_run):
    return Failing(in_run)


def change(solution, step, scale=None, term=None, shift=None):
    """Other Python numbers for a step: its next eager run uses them."""
    step.scale = step.scale if scale is None else scale
    if term is not None:
        step.terms[0] = term
    if shift is not None:
        SETTINGS["shift"] = shift


def put_another_total(solution, step, total):
    step.total = total


def hold(solution, value):
    return value.clone()


def expanded_tensor(solution, value, rows):
    return value.clone().expand(rows, -1)


def memory_of(solution, tensor):
    """The same memory under another name."""
    return tensor.view(tensor.shape)


def fill(solution, tensor, number):
    tensor.fill_(number)


def put(solution, tensor, value):
    """Other numbers in the same memory."""
    tensor.copy_(value)


def read(solution, thing):
    return thing


def pool_for(solution, tensor):
    """A pool on the tensor's device that knows whether work runs on its stream."""
    pool = new_pool(tensor.device)
    original = pool.on_stream
    pool.inside = 0

    @contextmanager
    def watched():
        with original():
            pool.inside += 1
            try:
                yield
            finally:
                pool.inside -= 1

    pool.on_stream = watched
    return pool


def on_stream(solution, pool):
    """Whether work that starts now would run on the pool's stream."""
    if pool.device.type == "cuda":
        return bool(pool.inside) and torch.cuda.current_stream(pool.device) == pool.stream
    return bool(pool.inside)


def holds_memory(solution, pool):
    return pool.nbytes > 0
