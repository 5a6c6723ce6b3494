"""What problem 145's tests hand to the learner's code: operators, calls, pools, and steps to record.

The tape is made for a CPU, so all tensors are put there, also where the judge's own come on a GPU.
"""

from __future__ import annotations

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from mini_llm.capture_rules import CaptureError
from mini_llm.tape import Call, TapePool, opaque

HOME = TapePool.device


def hold(solution, value):
    """A tensor, or a list of them, that stays in the worker."""
    return [hold(solution, v) for v in value] if isinstance(value, list) else value.to(HOME, copy=True)


def read(solution, thing):
    return thing


def fill(solution, tensor, number):
    tensor.fill_(number)


def put(solution, tensor, value):
    """Other numbers in the same memory."""
    tensor.copy_(value)


def memory_of(solution, tensor):
    """The same memory under another name."""
    return tensor.view(tensor.shape)


def give_other_memory(solution, tensor, value):
    """The tensor stays the same object, on another memory."""
    tensor.data = value.to(HOME, copy=True)


# --- written_tensors and run_again -------------------------------------------------------------------


def operator(solution, name):
    """An operator by its full name, such as add_.Tensor."""
    packet, overload = name.split(".")
    return getattr(getattr(torch.ops.aten, packet), overload)


def names_of(solution, found, named):
    """The names of the tensors that were found, by identity."""
    names = {id(tensor): name for name, tensor in named.items()}
    return sorted(names.get(id(tensor), "another tensor") for tensor in found)


def halves_of_double(x):
    both = x * 2
    return {"first": both[:1], "rest": [both[1:], "a text", None]}


def grow_by_one(x):
    x.add_(1)


FUNCTIONS = {"halves_of_double": halves_of_double, "grow_by_one": grow_by_one, "both": lambda x, y: (x + y, x - y)}


def call(solution, func, *args, homes, **kwargs):
    func = FUNCTIONS.get(func) or operator(solution, func)
    return Call(func, args, kwargs, tuple(homes))


# --- Tape --------------------------------------------------------------------------------------------


def pool(solution):
    return TapePool()


def spoil(solution, pool):
    pool.spoil_free_blocks()


def holds_memory(solution, pool):
    return pool.nbytes > 0


def holds_at_most(solution, pool, blocks_of_4096_bytes):
    return pool.nbytes <= 4096 * blocks_of_4096_bytes


class Step:
    """Calls `run` with itself and the inputs; has a number that can be changed."""

    def __init__(self, run, number, state=None):
        self.run, self.number, self.state = run, number, state

    def __call__(self, *inputs):
        return self.run(self, *inputs)


def change_number(solution, step, number):
    step.number = number


def chain(step, x, y):
    z = (x * step.number + y).t()
    return z[1:] - 1, z.long().sum(0)


def by_branch(step, x):
    return x[: step.number] * 10 if step.number > 2 else x - 1


def several(step, x):
    """Operators with several results, some in one memory."""
    numbers, order = torch.sort(x * step.number)
    first, last = torch.split(x + 1, [1, len(x) - 1])
    last.mul_(3)
    return {"sorted": (numbers, order), "parts": [first, last], "none": None}


def constants(step, x):
    """Tensors that are made in the step, and written to."""
    made = torch.zeros_like(x)
    made[1:] += x[1:] * step.number
    torch.add(made, torch.arange(len(x)), out=made)
    return made


def reshaping(step, x):
    """Changes tensors' shapes in place, behind calls that read them, also in a list, and write them, also by name."""
    y = x + step.number
    torch.add(y, torch.arange(y.numel()).view(y.shape), out=y)
    square = y[:, :2] * 1
    pair = torch.stack([square, square])
    square.t_()
    y.t_()
    y.unsqueeze_(0)
    y *= 2
    return y, pair


def writing(step, x, rows):
    """Writes into a cache: one row, some rows, and everything."""
    cache = step.state
    cache[0].add_(step.number)
    cache.index_copy_(0, rows, x)
    cache.mul_(2)
    return cache.sum(0)


def failing(step, x, rows):
    writing(step, x, rows)
    torch.rand(2)
    raise ArithmeticError("this step cannot run")


def writing_in_place(step, x):
    x.mul_(step.number)
    return x + 1


def deep(step, x):
    for _ in range(40):
        x = x + step.number
    return x


def deep_in_place(step, x):
    for _ in range(20):
        x = x + step.number
        x += step.number
    return x


def random_numbers(step, x):
    return x + torch.rand_like(x) * step.number


def numbers_of_a_generator(step, x):
    return x + torch.rand(x.shape, generator=step.state) * step.number


def whole(step, x):
    """A function that is recorded as one call, with a result that a tape may not take apart."""
    doubled, shifted = step.state(x)
    return doubled * step.number + shifted


def two_results(x):
    return [x * 2, x + x.max().item() + torch.is_grad_enabled()]  # a replay runs without gradients


def asks_for_item(step, x):
    return x * x.sum().item()


def asks_for_list(step, x):
    return x + len(x.tolist())


def asks_for_branch(step, x):
    return x + 1 if x.sum() > 0 else x


def asks_for_nonzero(step, x):
    x.add_(1)
    return x.nonzero()


def asks_for_numpy(step, x):
    return x + x.numpy().max()


STEPS = {f.__name__: f for f in (
    chain, by_branch, several, constants, reshaping, writing, failing, writing_in_place, deep, deep_in_place,
    random_numbers, numbers_of_a_generator, asks_for_item, asks_for_list, asks_for_branch, asks_for_nonzero,
    asks_for_numpy,
)}  # fmt: skip


def step(solution, name, number=1, state=None):
    return Step(STEPS[name], number, state)


def step_with_a_whole_function(solution, number=1):
    return Step(whole, number, opaque(two_results))


def refusal(solution, tape, step, inputs):
    """The name of the call that the tape refused, as its error has it."""
    try:
        tape.record(step, inputs)
    except CaptureError as error:
        return error.operator
    return "nothing was refused"


def error_of(solution, tape, step, inputs):
    """The error that comes out of a recording, as text."""
    try:
        tape.record(step, inputs)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


def is_garbage(solution, result):
    """Whether all numbers in a result are NaN, of whole numbers -1."""
    if isinstance(result, torch.Tensor):
        return bool((result.isnan() if result.is_floating_point() else result == -1).all())
    return all(is_garbage(solution, part) for part in result)


def seed(solution, number):
    torch.manual_seed(number)


def draw(solution, count, generator=None):
    return torch.rand(count, generator=generator)


def generator(solution, number):
    return torch.Generator().manual_seed(number)


def record_in_inference_mode(solution, tape, step, inputs):
    with torch.inference_mode():
        return tape.record(step, inputs)


class _Names(TorchDispatchMode):
    """Notes the operators that run, by their short names."""

    def __init__(self):
        super().__init__()
        self.found = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.found.add(func.overloadpacket.__name__)
        return func(*args, **(kwargs or {}))


def views_in_a_replay(solution, tape):
    """Which operators of the step `reshaping` a replay runs, though they only describe memory anew."""
    with _Names() as names:
        tape.replay()
    return sorted(names.found & {"view", "t_", "unsqueeze_"})


def state_of_the_tape(solution, tape):
    """Whether the tape says that it records now."""
    return type(tape).recording is not None
