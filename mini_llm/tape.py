"""The tape: what a CUDA graph does, done again on a CPU. For learning and testing, never for speed.

While a step is recorded, every operator passes here with its very tensors. A replay runs the list again, into
the very same memory. So the rules are those of CUDA graphs, and so are the symptoms when one is broken:

- addresses are fixed: a tensor that was put in a buffer's place later is not seen;
- Python numbers, shapes and strides are those of the recording;
- recording runs nothing: what the step changed in place is put back, and its output holds garbage;
- outputs live in a pool. Memory of a tensor that the step dropped serves the next one, in this graph and in
  every later graph of the pool, so a replay overwrites what another graph left there;
- random operators draw new numbers at each replay.

Limits: what calls no operator is not recorded (a Triton kernel has to be wrapped in one), and compiled code
runs as if it were not compiled, unless `opaque` makes it one operator. Tensors on a CPU are host and device
at once, so a copy from one to the other goes unnoticed, `.to("cpu")` too. Every tensor that a tape reads
stays alive, where a CUDA graph would read freed memory. To put back what a step changed in place, a
recording copies the whole memory behind it, a KV cache too.
"""

import ctypes
import weakref
from collections.abc import Callable, Collection
from contextlib import nullcontext
from dataclasses import dataclass

import torch
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_flatten, tree_leaves, tree_map_only, tree_unflatten

from mini_llm.capture_rules import OperatorRules, under


class TapePool:
    """Memory for the outputs of recorded operators, shared by graphs that never run at the same time.

    A block is lent to one storage; when the last tensor on it is gone the block is free for the next.
    Like CUDA's pools it only grows: capture the largest graph first, and the others fit into its memory.
    """

    device = torch.device("cpu")

    def __init__(self):
        self._blocks: dict[int, torch.Tensor] = {}  # by address: bytes, which live as long as the pool
        self._free: list[torch.Tensor] = []

    @property
    def nbytes(self) -> int:
        """Bytes held, in use or free."""
        return sum(len(block) for block in self._blocks.values())

    def on_stream(self):
        """Where a GPU changes to the stream to capture: a CPU has none."""
        return nullcontext()

    def lend(self, nbytes: int) -> torch.UntypedStorage:
        """A storage of at least `nbytes` on a block that is free, or on a new one."""
        # a small tensor on a huge block would keep it from the next huge one
        fitting = [b for b in self._free if nbytes <= len(b) <= max(8 * nbytes, 4096)]
        if fitting:
            block = min(fitting, key=len)
            self._free = [b for b in self._free if b is not block]
        else:
            block = torch.empty(-(-nbytes // 512) * 512, dtype=torch.uint8)
            self._blocks[block.data_ptr()] = block
        # The storage keeps `loan` alive, so the end of `loan` is the end of the last tensor on the block.
        # Until then `finalize` keeps the block: a tensor may outlive the pool.
        loan = (ctypes.c_char * len(block)).from_address(block.data_ptr())
        weakref.finalize(loan, TapePool._take_back, weakref.ref(self), block)
        return torch.frombuffer(loan, dtype=torch.uint8).untyped_storage()

    def block_at(self, address: int) -> torch.Tensor | None:
        """The bytes of the block that starts there, or None when the memory is not the pool's."""
        return self._blocks.get(address)

    def fixed(self, tensor: torch.Tensor) -> torch.Tensor:
        """The same memory, shape and strides, whatever happens to `tensor` itself; holds no loan."""
        block = self.block_at(address_of(tensor))
        return tensor.detach() if block is None else _on(block.untyped_storage(), tensor)

    def house(self, results: list, taken: set[int]) -> list:
        """The same results, new tensors moved into the pool; those whose memory is `taken` stay there, as they are."""
        lent = {}  # two tensors in one storage stay in one
        housed = []
        for result in results:
            if isinstance(result, torch.Tensor) and address_of(result) not in taken | {0}:
                storage = result.untyped_storage()
                if storage.data_ptr() not in lent:
                    lent[storage.data_ptr()] = self.lend(storage.nbytes())
                result = _on(lent[storage.data_ptr()], result).copy_(result)
            housed.append(result)
        return housed

    def spoil_free_blocks(self) -> None:
        """Fill what is free with bytes that make NaN, or -1: whoever reads it reads a tensor that is gone."""
        for block in self._free:
            block.fill_(0xFF)

    @staticmethod
    def _take_back(pool_ref, block):
        pool = pool_ref()
        if pool is not None:
            pool._free.append(block)


@dataclass(frozen=True)
class Call:
    """One operator call. `homes` are its outputs' places in memory, None for an output that needs none."""

    func: Callable  # an operator, or what `opaque` wraps
    args: tuple
    kwargs: dict
    homes: tuple


def run_again(call: Call) -> None:
    """Run a recorded call; its results go where the first ones lie."""
    results = tree_leaves(call.func(*call.args, **call.kwargs))
    for home, result in zip(call.homes, results, strict=True):
        if home is not None:
            home.copy_(result)


class Tape(OperatorRules):
    """Records the operators of one step, then replays them."""

    recording: "Tape | None" = None  # the tape that records now

    def __init__(self, pool: TapePool, generators=()):
        super().__init__(generators)
        self.pool = pool
        self.calls: list[Call] = []
        self._own: dict[int, torch.Tensor] = {}  # the blocks that the step's own tensors had, by address
        self._before: dict[int, tuple] = {}  # what the step overwrites of others' memory, by address
        self._inference = False  # recorded in inference mode

    def record(self, fn, inputs):
        """Record `fn(*inputs)` and return its output, whose memory holds garbage until the first replay.

        Memory that `fn` changed and the random generators are as before, also when `fn` raises.
        """
        self._inference = torch.is_inference_mode_enabled()
        states = [(g, g.get_state()) for g in (torch.default_generator, *self.generators)]
        Tape.recording = self
        try:
            with under(self):
                return fn(*inputs)
        finally:
            Tape.recording = None
            for memory, before in self._before.values():
                memory.copy_(before)
            for generator, state in states:
                generator.set_state(state)
            for memory in self._own.values():
                memory.fill_(0xFF)
            self._before, self._own = {}, {}

    def replay(self) -> None:
        """Run the calls again, without gradients, and in inference mode when they were recorded in it."""
        with torch.inference_mode(self._inference), torch.no_grad():
            for call in self.calls:
                run_again(call)

    def run(self, func, args, kwargs):
        """Called for every operator of the step: note what it does to memory."""
        only_describes = torch.Tag.inplace_view in func.tags  # t_ and the like: memory stays as it is
        return self.note(func, args, kwargs, [] if only_describes else written_tensors(func, args, kwargs))

    def note(self, func, args, kwargs, written):
        """Run a call, give its new outputs a home in the pool, and write it down if a replay has to run it.

        It has to when an output has a home, or when the call writes into tensors: `written`. Returns the call's result,
        with the housed tensors in it.
        """
        for tensor in written:
            self._remember(tensor)
        # taken before the call, since `t_()` and `resize_()` change the tensor itself
        fixed_args, fixed_kwargs = tree_map_only(torch.Tensor, self.pool.fixed, (args, kwargs))
        taken = {address_of(t) for t in tensors_in((args, kwargs))}
        leaves, layout = tree_flatten(func(*args, **kwargs))
        housed = self.pool.house(leaves, taken)
        homes = tuple(None if new is old else self.pool.fixed(new) for new, old in zip(housed, leaves, strict=True))
        self._own |= {address_of(home): self.pool.block_at(address_of(home)) for home in tensors_in(homes)}
        if written or tensors_in(homes):
            self.calls.append(Call(func, fixed_args, fixed_kwargs, homes))
        return tree_unflatten(housed, layout)

    def _remember(self, tensor: torch.Tensor) -> None:
        """Keep a copy of memory that the step is about to change, unless the step itself made it."""
        address, memory = address_of(tensor), tensor.untyped_storage()
        if address and address not in self._own and address not in self._before:
            self._before[address] = memory, memory.clone()


def written_tensors(func, args, kwargs) -> list[torch.Tensor]:
    """The arguments that an operator changes in place, by its schema."""
    given = dict(zip((a.name for a in func._schema.arguments), args, strict=False)) | kwargs
    return tensors_in([given.get(a.name) for a in func._schema.arguments if a.alias_info and a.alias_info.is_write])


def opaque(fn: Callable, mutates: Collection[int] = ()) -> Callable:
    """`fn` as one operator to a tape, which records the call whole and runs it again at each replay.

    Meant for compiled callables: a tape would take them apart, and torch.compile runs eager while one records.
    `fn` takes and returns tensors and plain values, or lists, tuples and dicts of them. `mutates`: the places of
    the arguments that it writes into. A host read inside is not noticed.
    """

    def call(*args):
        if Tape.recording is None:
            return fn(*args)
        with _disable_current_modes(), torch._C.DisableTorchFunction():
            return Tape.recording.note(fn, args, {}, tensors_in([args[i] for i in mutates]))

    return call


def tensors_in(tree) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def address_of(tensor: torch.Tensor) -> int:
    """Where the memory behind a tensor starts: the same for all views of it, 0 for a tensor without any."""
    return tensor.untyped_storage().data_ptr()


def _on(storage: torch.UntypedStorage, like: torch.Tensor) -> torch.Tensor:
    """A tensor of `like`'s dtype, shape, strides and offset on another storage."""
    return torch.empty(0, dtype=like.dtype).set_(storage, like.storage_offset(), like.shape, like.stride())
