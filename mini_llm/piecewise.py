"""Graphs of everything but attention: trace the step once, split it at attention, capture each piece.

Attention is the one part of a step whose work depends on lengths that only Python knows. All the rest are
functions of one row per token, whatever requests the rows belong to. So the step is cut at each attention
call: a piece is replayed, attention runs as ever with the live batch, the next piece is replayed. Prefill,
decode and mixed batches run in the same graphs, under any attention backend, one that no graph holds too.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch.fx import Graph, GraphModule, Node, map_arg

from mini_llm.attention import AttentionBackend, attend, forward_context
from mini_llm.batch import BatchInput, StepBuffers, StepInputs
from mini_llm.bucket_runner import addresses, fill_with_padding, log_capture, with_progress
from mini_llm.buckets import pad_to
from mini_llm.graphs import capture
from mini_llm.paged import PagedKVCache
from mini_llm.step import logits, trace_step

ATTENTION = torch.ops.mini_llm.attention.default


# --- split -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Piece:
    """A stretch of the step: `run(*inputs)` gives a tuple of outputs, both known by their names in the step.

    Weights are inputs too. So pieces that do the same with other weights have the same code.
    """

    module: GraphModule
    run: Callable[..., tuple]  # `module` itself, or something faster
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    splits: bool  # this is one call of the operator that the step was split at
    last_uses: tuple[str, ...] = ()  # values made by earlier pieces that no later piece needs


def piece_numbers(calls: Sequence[tuple], op) -> list[int]:
    """The piece that each call of a step belongs to: pieces are counted from 0, in order, and none is empty.

    `calls` are (name of the result, operator, names of the values it reads), in the order in which they run. Each
    call of the operator `op` is a piece of its own; what lies between two of them is one piece.
    """
    numbers, number, full = [], -1, True
    for _, operator, _ in calls:
        if full or operator == op:
            number += 1
        numbers.append(number)
        full = operator == op
    return numbers


def crossing_values(
    calls: Sequence[tuple], numbers: Sequence[int], results: Sequence[str]
) -> list[tuple[list[str], list[str]]]:
    """What goes into each piece and comes out of it: a pair (inputs, outputs) of names for each piece.

    `calls` and `numbers` are those of `piece_numbers`; `results` are the names of what the step returns. Inputs are
    the values that a piece reads and does not make, in the order of first use. Outputs are those it makes that
    another piece reads or the step returns, in the order in which they are made. Each name stands there once.
    """
    home = {name: number for (name, _, _), number in zip(calls, numbers, strict=True)}
    inputs: list[dict] = [{} for _ in set(numbers)]
    needed = set(results)
    for (_, _, reads), number in zip(calls, numbers, strict=True):
        from_outside = [name for name in reads if home.get(name) != number]
        inputs[number] |= dict.fromkeys(from_outside)
        needed.update(from_outside)
    outputs: list[list] = [[] for _ in inputs]
    for name, number in home.items():
        if name in needed:
            outputs[number].append(name)
    return [(list(names), made) for names, made in zip(inputs, outputs, strict=True)]


def last_uses(crossing: Sequence[tuple], results: Sequence[str]) -> list[list[str]]:
    """For each piece, those of its inputs whose memory is free after it, in the order of its inputs.

    `crossing` and `results` are those of `crossing_values`. Free is what a piece made, no later piece reads, and the
    step does not return. What was there before the first piece, such as weights, belongs to others and stays.
    """
    made, needed_later, free = {name for _, outputs in crossing for name in outputs}, set(results), []
    for inputs, _ in reversed(crossing):
        free.append([name for name in inputs if name in made - needed_later])
        needed_later |= set(inputs)
    return free[::-1]


def split_at(graph_module: GraphModule, op) -> list[Piece]:
    """Cut the graph at every call of `op`: pieces that, run in order, do what the whole does.

    Each call of `op` is a piece of its own, with `splits` set; what lies between two calls is one piece. Each value
    that crosses is a tensor.
    """
    nodes = {node.name: node for node in graph_module.graph.nodes}
    run = [node for node in nodes.values() if node.op.startswith("call_")]
    calls = [(node.name, node.target, [read.name for read in node.all_input_nodes]) for node in run]
    numbers, results = piece_numbers(calls, op), _results(graph_module)
    crossing = crossing_values(calls, numbers, results)
    pieces = []
    for number, ((inputs, outputs), free) in enumerate(zip(crossing, last_uses(crossing, results), strict=True)):
        inside = [node for node, at in zip(run, numbers, strict=True) if at == number]
        module = _module_of(graph_module, inside, [nodes[name] for name in inputs], outputs)
        splits = inside[0].target == op
        pieces.append(Piece(module, module, tuple(inputs), tuple(outputs), splits, tuple(free)))
    return pieces


def _module_of(graph_module: GraphModule, nodes: list[Node], inputs: list[Node], outputs: list[str]) -> GraphModule:
    """Nodes that stand in a row, as a module of its own."""
    # They get new names, counted from the start of the piece, so that equal pieces have equal code.
    graph, new = Graph(), {}
    for i, node in enumerate(inputs):
        new[node] = graph.placeholder(f"arg{i}")
    for node in nodes:
        args, kwargs = map_arg((node.args, node.kwargs), new.__getitem__)
        new[node] = graph.create_node(node.op, node.target, args, kwargs)
    for node, copy in new.items():
        copy.meta = dict(node.meta)
    graph.output(tuple(new[node] for node in nodes if node.name in outputs))
    return GraphModule(graph_module, graph)


def _results(graph_module: GraphModule) -> list[str]:
    output = graph_module.graph.output_node()
    return [node.name for node in output.all_input_nodes]


# --- run the pieces -------------------------------------------------------------------------------


def run_pieces(pieces: Sequence[Piece], values: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Run the pieces one after another: the values that are there at the start, by name -> those at the end.

    `values` itself stays as it is. What a piece makes is let go after its last use (`Piece.last_uses`).
    """
    values = dict(values)
    for piece in pieces:
        outputs = piece.run(*(values[name] for name in piece.inputs))
        values.update(zip(piece.outputs, outputs, strict=True))
        for name in piece.last_uses:
            del values[name]
    return values


class SplitStep:
    """`step(inputs)` runs piece after piece: StepInputs -> logits [M, vocab] of `inputs.logits_indices`.

    Runs inside a `forward_context`. `head` makes logits of hidden states; it is no piece, since it sees
    only the rows that are wanted. The step as a whole can be captured where its attention can.
    """

    def __init__(self, graph_module: GraphModule, head: Callable):
        self.head = head
        self.placeholders = [node.name for node in graph_module.graph.find_nodes(op="placeholder") if node.users]
        weights = [node for node in graph_module.graph.nodes if node.op == "get_attr"]
        # plain tensors: a Parameter is a type of its own to the compiler, and on a tape it would not stay one
        self.weights = {node.name: getattr(graph_module, node.target).detach() for node in weights}
        self.cache: dict[str, torch.Tensor] = {}  # where keys and values go, for a step that writes them itself
        (self.result,) = _results(graph_module)
        self.pieces = split_at(graph_module, ATTENTION)
        for i, piece in enumerate(self.pieces):
            if piece.splits:
                # The operator was for the tracer. The function behind it costs less, and its kernels can be captured.
                call = next(node for node in piece.module.graph.nodes if node.target is ATTENTION)
                call.target = _attend_as_traced
                piece.module.recompile()
            else:
                self.pieces[i] = replace(piece, run=self.faster(piece))

    def faster(self, piece: Piece) -> Callable:
        """What runs a piece: here the piece itself. `fusion.py` compiles it."""
        return piece.run

    def use_cache(self, kv: PagedKVCache) -> None:
        """Told which cache is in use. Here that is attention's business alone; a fused step writes to it."""

    def start(self, inputs: StepInputs) -> dict[str, torch.Tensor]:
        """The values that are there before the first piece, by name."""
        given = [name for name in self.placeholders if name not in self.cache]
        return self.weights | self.cache | {name: getattr(inputs, name) for name in given}

    def __call__(self, inputs: StepInputs) -> torch.Tensor:
        values = run_pieces(self.pieces, self.start(inputs))
        return self.head(values[self.result][inputs.logits_indices])


def _attend_as_traced(q, k, v, layer: int) -> torch.Tensor:
    # A piece was traced for the strides that the operator promises; backends may answer in others.
    return attend(q, k, v, layer).contiguous()


def split_step(model) -> SplitStep:
    """The step of `model` in pieces, none of them compiled."""
    return SplitStep(trace_step(model), lambda hidden: logits(model, hidden))


class CapturedPieces:
    """Pieces behind graphs, for tensors of one size: `replay()` does again what `run_pieces(pieces, values)` does.

    Graphs read the tensors in `values` where they lie, and each reads what the one before wrote: nothing is copied.
    A piece with `splits` is not captured, not even run, until the first replay. It then runs anew each time, on what
    the graph before wrote, and its result, of the shape and dtype of its first input, is copied to where the next
    graph reads it. `attended` holds such places by name, for at least as many rows: it is shared by all sizes, and
    filled here where a name is missing. `pool` is shared with graphs captured before; `.pool` is the one in use.
    """

    def __init__(
        self,
        pieces: Sequence[Piece],
        values: dict[str, torch.Tensor],
        pool=None,
        warmup: int = 1,
        attended: dict[str, torch.Tensor] | None = None,
    ):
        self.pool, self.calls = pool, []
        attended, given, values = {} if attended is None else attended, values, dict(values)
        for piece in pieces:
            arguments = [values[name] for name in piece.inputs]
            if piece.splits:
                (name,), like = piece.outputs, arguments[0]
                if name not in attended:
                    attended[name] = torch.zeros_like(like)
                outputs = (attended[name][: len(like)],)
                self.calls.append(_AttentionCall(piece.run, [address_of(a) for a in arguments], outputs[0]))
            else:
                graph = capture(piece.run, *arguments, warmup=warmup, pool=self.pool)
                self.pool, outputs = graph.pool, graph.output
                graph.inputs = graph.output = None  # or every size would keep memory of its own
                self.calls.append(graph.replay)
            values.update(zip(piece.outputs, outputs, strict=True))
            # Memory that no later piece needs serves the next piece, and at the end all of it the next size.
            for name in piece.last_uses:
                del values[name]
            del arguments, outputs
        self.values = {name: value if name in given else address_of(value) for name, value in values.items()}

    def replay(self) -> dict[str, torch.Tensor]:
        """The values at the end. Those that pieces made are overwritten by the next replay in this pool."""
        for call in self.calls:
            call()
        return dict(self.values)


@dataclass(frozen=True)
class _AttentionCall:
    """Attention between two graphs: it runs anew each time, and leaves its result where the next one reads it."""

    run: Callable[..., tuple]
    arguments: list
    result: torch.Tensor

    def __call__(self) -> None:
        self.result.copy_(self.run(*self.arguments)[0])


class PiecewiseRunner:
    """`step` for batches of any kind, behind graphs of its pieces, one set of them per size.

    `sizes` are in tokens. A batch above the largest, or before `capture`, runs piece by piece without graphs.
    `pool` is shared with graphs captured before. Raises ValueError for a size above the buffers.
    """

    def __init__(
        self,
        step: SplitStep,
        kv: PagedKVCache,
        backend: AttentionBackend,
        buffers: StepBuffers,
        sizes: Sequence[int],
        pool=None,
    ):
        self.step, self.kv, self.backend, self.buffers, self.pool = step, kv, backend, buffers, pool
        step.use_cache(kv)
        self.sizes = sorted(set(sizes))
        for size in self.sizes:
            buffers.view(size)  # an error now, not at the first large batch
        self.captured: dict[int, CapturedPieces] = {}
        self.attended: dict[str, torch.Tensor] = {}  # where attention leaves its results, for the largest size
        self._addresses: dict[int, list[int]] = {}

    @torch.no_grad()
    def capture(self, warmup: int = 1, progress: bool = False) -> None:
        """Capture the pieces of every size, from large to small, and log how long it took and what it holds.

        Whatever the buffers hold is overwritten with padding. `progress` shows a bar on stderr.
        """
        start, captured = time.perf_counter(), {}
        for size in with_progress(list(reversed(self.sizes)), self.buffers.device, progress):
            inputs = self.buffers.view(size)
            fill_with_padding(inputs)  # or warming up a piece that writes to the cache would spoil it
            pieces, values = self.step.pieces, self.step.start(inputs)
            captured[size] = CapturedPieces(pieces, values, self.pool, warmup, self.attended)
            self.pool, self._addresses[size] = captured[size].pool, addresses(inputs)
        self.captured = captured
        graphs = sum(not piece.splits for piece in self.step.pieces)
        log_capture(f"{graphs} pieces", self, time.perf_counter() - start)

    def size_for(self, batch: BatchInput) -> int | None:
        """The captured size that `batch` runs at; None when it is above all of them."""
        size = pad_to(len(batch.input_ids), self.sizes)
        return size if size in self.captured else None

    def can_run(self, batch: BatchInput) -> bool:
        """Whether graphs can take this batch."""
        return self.size_for(batch) is not None

    @torch.no_grad()
    def run(self, batch: BatchInput) -> torch.Tensor:
        """Logits [M, vocab] of `batch`, in memory of their own."""
        size = self.size_for(batch)
        inputs = self.buffers.set(batch, size)
        with forward_context(self.kv, self.backend, inputs):
            if size is None:
                return self.step(inputs)
            if addresses(inputs) != self._addresses[size]:
                raise RuntimeError("the step's buffers have moved since the capture: the graphs read the old memory")
            hidden = self.captured[size].replay()[self.step.result]
            return self.step.head(hidden[inputs.logits_indices])


def address_of(value):
    """A tensor on the same memory that does not keep it: for memory that a pool keeps. Other values as they are."""
    if not isinstance(value, torch.Tensor):
        return value
    memory = value.untyped_storage()
    unowned = torch._C._construct_storage_from_data_pointer(memory.data_ptr(), value.device, memory.nbytes())
    return value.new_empty(0).set_(unowned, value.storage_offset(), value.shape, value.stride())
