"""Problem 145 in another style: a bare file, own classes around the calls, everything in `note`."""

import torch
from torch.utils._pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten

from mini_llm.tape import Call, OperatorRules, address_of, under


def written_tensors(func, args, kwargs):
    found = []
    for place, argument in enumerate(func._schema.arguments):
        if argument.alias_info is None or not argument.alias_info.is_write:
            continue
        if argument.name in kwargs:
            value = kwargs[argument.name]
        elif place < len(args):
            value = args[place]
        else:
            continue
        values = value if isinstance(value, (list, tuple)) else [value]
        found.extend(v for v in values if isinstance(v, torch.Tensor))
    return found


def run_again(call):
    leaves = tree_leaves(call.func(*call.args, **call.kwargs))
    for i in range(len(leaves)):
        if call.homes[i] is not None:
            call.homes[i].copy_(leaves[i])


class Tape(OperatorRules):
    recording = None

    def __init__(self, pool, generators=()):
        super().__init__(generators)
        self.pool = pool
        self.list = []
        self.saved = {}
        self.mine = set()

    def record(self, fn, inputs):
        self.mode = torch.is_inference_mode_enabled()
        watched = [torch.default_generator, *self.generators]
        states = [g.get_state() for g in watched]
        Tape.recording = self
        try:
            with under(self):
                result = fn(*inputs)
            return result
        finally:
            Tape.recording = None
            for g, state in zip(watched, states, strict=True):
                g.set_state(state)
            for storage, copy in self.saved.values():
                storage.copy_(copy)
            for address in self.mine:
                self.pool.block_at(address)[:] = 255
            self.saved, self.mine = {}, set()

    def replay(self):
        with torch.inference_mode(self.mode), torch.no_grad():
            for call in self.list:
                run_again(call)

    def run(self, func, args, kwargs):
        if torch.Tag.inplace_view in func.tags:
            return func(*args, **kwargs)
        return self.note(func, args, kwargs, written_tensors(func, args, kwargs))

    def note(self, func, args, kwargs, written):
        for tensor in written:
            address = address_of(tensor)
            if address not in self.mine and address not in self.saved:
                self.saved[address] = (tensor.untyped_storage(), tensor.untyped_storage().clone())

        def keep(x):
            return self.pool.fixed(x) if isinstance(x, torch.Tensor) else x

        kept_args, kept_kwargs = tree_map(keep, tuple(args)), tree_map(keep, dict(kwargs))
        taken = {address_of(x) for x in tree_leaves([list(args), dict(kwargs)]) if isinstance(x, torch.Tensor)}
        leaves, form = tree_flatten(func(*args, **kwargs))
        placed = self.pool.house(leaves, taken)
        homes = []
        for old, new in zip(leaves, placed, strict=True):
            homes.append(None if old is new else keep(new))
            if old is not new:
                self.mine.add(address_of(new))
        if written or any(h is not None for h in homes):
            self.list.append(Call(func, kept_args, kept_kwargs, tuple(homes)))
        return tree_unflatten(placed, form)
