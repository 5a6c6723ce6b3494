"""Accepted too: plain classes that keep everything they make, and share nothing between sizes but the pool."""

import torch

from mini_llm.attention import forward_context
from mini_llm.bucket_runner import fill_with_padding
from mini_llm.graphs import capture


def run_pieces(pieces, values):
    left = {**values}
    for piece in pieces:
        results = piece.run(*[left[name] for name in piece.inputs])
        for name, result in zip(piece.outputs, results, strict=True):
            left[name] = result
        del result, results
        for name in piece.last_uses:
            left.pop(name)
    return left


class CapturedPieces:
    def __init__(self, pieces, values, pool=None, warmup=1):
        self.pool, self.steps, self.named = pool, [], dict(values)
        self.gone = {name for piece in pieces for name in piece.last_uses}
        for piece in pieces:
            arguments = [self.named[name] for name in piece.inputs]
            if piece.splits:
                place = torch.empty_like(arguments[0])
                self.steps.append((piece, arguments, place))
                self.named[piece.outputs[0]] = place
                continue
            graph = capture(piece.run, *arguments, warmup=warmup, pool=self.pool)
            self.pool = graph.pool
            self.steps.append((graph, None, None))
            self.named.update(zip(piece.outputs, graph.output, strict=True))

    def replay(self):
        for step, arguments, place in self.steps:
            if arguments is None:
                step.replay()
            else:
                place.copy_(step.run(*arguments)[0])
        return {name: value for name, value in self.named.items() if name not in self.gone}


class PiecewiseRunner:
    def __init__(self, step, kv, backend, buffers, sizes, pool=None):
        self.step, self.kv, self.backend, self.buffers = step, kv, backend, buffers
        self.pool, self.of_size = pool, {}
        self.sizes = sorted({*sizes}, reverse=True)
        if self.sizes:
            buffers.view(self.sizes[0])
        step.use_cache(kv)

    @torch.no_grad()
    def capture(self, warmup=1, progress=False):
        for size in self.sizes:
            inputs = self.buffers.view(size)
            fill_with_padding(inputs)
            self.of_size[size] = CapturedPieces(self.step.pieces, self.step.start(inputs), self.pool, warmup)
            self.pool = self.of_size[size].pool

    def _size(self, batch):
        return min((size for size in self.of_size if size >= len(batch.input_ids)), default=None)

    def can_run(self, batch):
        return self._size(batch) is not None

    @torch.no_grad()
    def run(self, batch):
        size = self._size(batch)
        inputs = self.buffers.set(batch) if size is None else self.buffers.set(batch, size)
        with forward_context(self.kv, self.backend, inputs):
            if size is None:
                return self.step(inputs)
            hidden = self.of_size[size].replay()[self.step.result]
        return self.step.head(hidden.index_select(0, inputs.logits_indices))
