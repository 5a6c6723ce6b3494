"""What a graph cannot record, and an error that names the call and says what to do instead.

A replay runs the same kernels on the same addresses and asks the host nothing. So a step cannot be recorded
when it reads a value on the host, makes a shape out of values, or copies numbers from the host. Two modes
watch for that: one sees every operator, the other the Python functions that call none (on a CPU `.tolist()`
just looks at the memory). The tape records under these rules. CUDA has its own guards, which do not say
which call they mean; `first_offence` then runs the step under the rules to find it.
"""

import sys
from contextlib import contextmanager, nullcontext
from numbers import Number

import torch
from torch.overrides import TorchFunctionMode, resolve_name
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

HOST_VALUE = (
    "needs a value on the host, and a replay never asks the host. Keep the value in a tensor (torch.where, "
    "masked_fill, an index tensor), or read it before the capture or after a replay."
)
VALUE_SHAPE = (
    "makes a shape out of values, and a replay has fixed shapes. Keep the whole tensor and mask it "
    "(torch.where, masked_fill), or compute the indices before the capture."
)
FROM_HOST = (
    "copies numbers from the host, and a replay never asks the host. Make the tensor before the capture and "
    "copy new numbers into it between replays; for a constant take torch.full or masked_fill."
)
UNKNOWN_GENERATOR = (
    "draws from a generator that the graph does not know, so its seed would be ignored on replay. "
    "Pass it: capture(..., generators=(generator,))."
)

# Python functions that read a CPU tensor without calling an operator, or that call one too late to name it.
HOST_READS = {
    getattr(torch.Tensor, name)
    for name in "cpu tolist numpy __array__ __dlpack__ __repr__ __format__ __contains__".split()
}
# Operators that read a value inside themselves, on a GPU too, though their schema does not tell.
READS_INSIDE = {
    "aten::equal",
    "aten::allclose",
    "aten::multinomial",
    "aten::normal.Tensor_Tensor",
    "aten::normal.float_Tensor",
    "aten::_linalg_check_errors",
}
INDEXING = {
    f"aten::{name}" for name in "index index_put index_put_ _index_put_impl_ _unsafe_index _unsafe_index_put".split()
}


class CaptureError(RuntimeError):
    """A capture or a replay broke a rule of graphs. `operator` names the call that did, where one did."""

    def __init__(self, message: str, operator: str | None = None):
        super().__init__(message)
        self.operator = operator


class FunctionRules(TorchFunctionMode):
    """Refuses host reads that call no operator, and remembers which function is under way."""

    caller = None

    def __torch_function__(self, func, types, args=(), kwargs=None):
        name = (resolve_name(func) or str(func)).replace("torch.Tensor.", "Tensor.")
        if func in HOST_READS:
            raise refusal(name, None, HOST_VALUE)
        if func is torch.Tensor.__getitem__ and _holds(list, args[1]):
            raise refusal(name, None, FROM_HOST)
        if func is torch.Tensor.__setitem__:
            target, index, value = args
            if _holds(list, index) or (isinstance(value, Number) and _holds(torch.Tensor, index)):
                raise refusal(name, None, FROM_HOST)
            if isinstance(value, Number):  # to one place or slice: on a GPU the number becomes part of a kernel
                args = target, index, torch.full((), value, dtype=target.dtype, device=target.device)
        outer, self.caller = self.caller, name
        try:
            return func(*args, **(kwargs or {}))
        finally:
            self.caller = outer


class OperatorRules(TorchDispatchMode):
    """Refuses operators that a graph cannot record; every other one goes to `run`."""

    def __init__(self, generators=()):
        super().__init__()
        self.generators = tuple(generators)
        self.functions = FunctionRules()

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # True, PyTorch's default, would import the compiler for the first operator: 3 s

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        with self:  # in inference mode linear, item and the like arrive whole: take them apart
            parts = func.decompose(*args, **kwargs)
        if parts is not NotImplemented:
            return parts
        rule = broken_rule(func, args, kwargs, self.generators)
        if rule is not None:
            raise refusal(self.functions.caller, func.name(), rule)
        return self.run(func, args, kwargs)

    def run(self, func, args, kwargs):
        return func(*args, **kwargs)


@contextmanager
def under(rules: OperatorRules):
    """Within this, `rules` see every operator and every Python function of this thread.

    Compiled functions run eager, and say so to nobody. Left alone, the compiler would do the same on seeing
    a dispatch mode, but would also give the function up: its compiled code would never run again
    (pytorch 190286).
    """
    # whoever has compiled a function has imported the compiler, which takes seconds
    compiler = torch.compiler.set_stance("force_eager") if "torch._dynamo" in sys.modules else nullcontext()
    with compiler, rules.functions, rules:
        yield


def broken_rule(func, args, kwargs, generators=()) -> str | None:
    """The rule that this operator call breaks, as the rest of a sentence; None for a call that may be recorded."""
    values = tree_leaves((args, kwargs))
    if torch.Tag.data_dependent_output in func.tags or func.name() in READS_INSIDE:
        return HOST_VALUE
    if func._schema.name in INDEXING:
        if any(isinstance(i, torch.Tensor) and i.dtype in (torch.bool, torch.uint8) for i in args[1]):
            return VALUE_SHAPE
    elif torch.Tag.dynamic_output_shape in func.tags and kwargs.get("output_size") is None:
        return VALUE_SHAPE
    if func is torch.ops.aten.lift_fresh.default:
        return FROM_HOST
    known = {g._cdata for g in (*generators, torch.default_generator, *torch.cuda.default_generators)}
    if any(isinstance(v, torch.Generator) and v._cdata not in known for v in values):
        return UNKNOWN_GENERATOR
    devices = {v.device.type for v in values if isinstance(v, torch.Tensor) and v.ndim > 0}
    if func._schema.name in ("aten::copy_", "aten::_to_copy"):
        devices |= {torch.device(kwargs["device"]).type} if kwargs.get("device") else set()
        if len(devices) > 1:
            return HOST_VALUE if "cpu" in devices else None
    return None


def refusal(caller: str | None, operator: str | None, rule: str) -> CaptureError:
    """The error for a call: `caller` is the function that the step called, `operator` what that came to."""
    name = caller or operator
    both = f"{caller} ({operator})" if caller and operator else name
    return CaptureError(f"{both} {rule}", name)


def first_offence(fn, inputs, generators=()) -> CaptureError | None:
    """Run `fn(*inputs)` once, eagerly and under the rules: the first one it breaks, or None.

    Whatever `fn` changes in place changes once more. An error of `fn`'s own is no offence.
    """
    try:
        with under(OperatorRules(generators)):
            fn(*inputs)
    except CaptureError as offence:
        return offence
    except Exception:  # what the capture raised is what the caller wants to see
        return None
    return None


def _holds(kind: type, index) -> bool:
    """Whether an index is, or has in it, something of this kind."""
    return any(isinstance(part, kind) for part in (index if isinstance(index, tuple) else (index,)))
