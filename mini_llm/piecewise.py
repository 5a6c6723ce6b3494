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
from torch.fx.experimental.proxy_tensor import make_fx

from mini_llm.attention import AttentionBackend, attend, forward_context
from mini_llm.batch import BatchInput, StepBuffers, StepInputs
from mini_llm.bucket_runner import addresses, fill_with_padding, log_capture, with_progress
from mini_llm.buckets import pad_to
from mini_llm.graphs import capture
from mini_llm.paged import PagedKVCache
from mini_llm.step import hidden_states, logits

ATTENTION = torch.ops.mini_llm.attention.default


# --- trace and split ------------------------------------------------------------------------------


@torch.no_grad()
def trace_step(model, tokens: int = 8) -> GraphModule:
    """`hidden_states` of `model` as one graph of operators, for any number of tokens.

    Placeholders are called input_ids and positions, like the fields of StepInputs, and weights by their names
    in the model. `tokens` is an example: any number above 1, since torch makes a constant of 0 and of 1.
    """

    def step(input_ids, positions):
        return hidden_states(model, input_ids, positions, ATTENTION)

    device = model.embed_tokens.weight.device
    # two tensors: if it were one, the tracer could not tell which of the two the step reads
    examples = [torch.zeros(tokens, dtype=torch.long, device=device) for _ in range(2)]
    # weights are real tensors, which a trace of shapes alone would refuse
    graph_module = make_fx(step, tracing_mode="symbolic", _allow_non_fake_inputs=True)(*examples)
    names = {id(weight): name.replace(".", "_") for name, weight in model.named_parameters()}
    inputs = iter(("input_ids", "positions"))
    for node in graph_module.graph.nodes:
        if node.op == "placeholder":
            node._rename(next(inputs))
        elif node.op == "get_attr":
            node._rename(names.get(id(getattr(graph_module, node.target)), node.name))
    graph_module.recompile()
    return graph_module


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


def split_at(graph_module: GraphModule, op) -> list[Piece]:
    """Cut the graph at every call of `op`: pieces that, run in order, do what the whole does.

    Each call of `op` is a piece of its own, with `splits` set; what lies between two calls is one piece.
    """
    stretches: list[list[Node]] = [[]]
    for node in graph_module.graph.nodes:
        if node.target is op:
            stretches += [[node], []]
        elif node.op.startswith("call_") and not _is_size(node):
            stretches[-1].append(node)
    pieces = [_piece(graph_module, stretch, op) for stretch in stretches if stretch]

    made, needed_later = {name for piece in pieces for name in piece.outputs}, set(_results(graph_module))
    for i, piece in reversed(list(enumerate(pieces))):
        names = dict.fromkeys(piece.inputs + piece.outputs)
        pieces[i] = replace(piece, last_uses=tuple(n for n in names if n in made and n not in needed_later))
        needed_later |= set(piece.inputs)
    return pieces


def _piece(graph_module: GraphModule, nodes: list[Node], op) -> Piece:
    """The graph of some nodes that stand in a row, as a module of its own."""

    def from_outside():
        return list(dict.fromkeys(n for node in nodes for n in node.all_input_nodes if n not in nodes))

    # Sizes are no values to hand on: whoever needs one asks for it again, and takes in a tensor that has it.
    while sizes := [node for node in from_outside() if _is_size(node)]:
        nodes = sizes + nodes
    inputs = from_outside()
    outputs = [node for node in nodes if not _is_size(node) and any(user not in nodes for user in node.users)]

    # Nodes get new names, counted from the start of the piece, so that equal pieces have equal code.
    graph, new = Graph(), {}
    for i, node in enumerate(inputs):
        new[node] = graph.placeholder(f"arg{i}")
    for node in nodes:
        args, kwargs = map_arg((node.args, node.kwargs), new.__getitem__)
        new[node] = graph.create_node(node.op, node.target, args, kwargs)
    for node, copy in new.items():
        copy.meta = dict(node.meta)
    graph.output(tuple(new[node] for node in outputs))
    module = GraphModule(graph_module, graph)
    names = [tuple(node.name for node in side) for side in (inputs, outputs)]
    return Piece(module, module, *names, splits=nodes[-1].target is op)


def _is_size(node: Node) -> bool:
    """Whether the node computes a number, such as the number of tokens, and no tensor."""
    return node.op == "call_function" and isinstance(node.meta.get("val"), (int, torch.SymInt))


def _results(graph_module: GraphModule) -> list[str]:
    output = graph_module.graph.output_node()
    return [node.name for node in output.all_input_nodes]


# --- run the pieces -------------------------------------------------------------------------------


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
        values = self.start(inputs)
        for piece in self.pieces:
            outputs = piece.run(*(values[name] for name in piece.inputs))
            values.update(zip(piece.outputs, outputs, strict=True))
            for name in piece.last_uses:
                del values[name]
        return self.head(values[self.result][inputs.logits_indices])


def _attend_as_traced(q, k, v, layer: int) -> torch.Tensor:
    # A piece was traced for the strides that the operator promises; backends may answer in others.
    return attend(q, k, v, layer).contiguous()


def split_step(model) -> SplitStep:
    """The step of `model` in pieces, none of them compiled."""
    return SplitStep(trace_step(model), lambda hidden: logits(model, hidden))


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
        self.attended: list[torch.Tensor] = []  # what each attention call gave, for the largest size

    @torch.no_grad()
    def capture(self, warmup: int = 1, progress: bool = False) -> None:
        """Capture the pieces of every size, from large to small, and log how long it took and what it holds.

        Whatever the buffers hold is overwritten with padding. `progress` shows a bar on stderr.
        """
        start, captured = time.perf_counter(), {}
        for size in with_progress(list(reversed(self.sizes)), self.buffers.device, progress):
            captured[size] = self._capture_size(size, warmup)
        self.captured = captured
        pieces = sum(not piece.splits for piece in self.step.pieces)
        log_capture(f"{pieces} pieces", self, time.perf_counter() - start)

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
            return self.step.head(self.captured[size].replay(inputs)[inputs.logits_indices])

    def _capture_size(self, size: int, warmup: int) -> "CapturedPieces":
        """Capture piece after piece. Each reads what the one before wrote, where it wrote it: nothing is copied.

        A value is dropped once no later piece needs it, so its memory serves the next piece, and after the
        last piece all of it serves the next size. Replays find it by its address alone.
        """
        inputs = self.buffers.view(size)
        fill_with_padding(inputs)  # or warming up a piece that writes to the cache would spoil it
        values, calls, attended = self.step.start(inputs), [], iter(self.attended)
        for piece in self.step.pieces:
            arguments = [values[name] for name in piece.inputs]
            if piece.splits:
                outputs = (self._attended(attended, like=arguments[0]),)
                calls.append(AttentionCall(piece.run, [address_of(a) for a in arguments], outputs[0]))
            else:
                graph = capture(piece.run, *arguments, warmup=warmup, pool=self.pool)
                self.pool, outputs = graph.pool, graph.output
                graph.inputs = graph.output = None  # or every size would keep memory of its own
                calls.append(graph.replay)
            values.update(zip(piece.outputs, outputs, strict=True))
            for name in piece.last_uses:
                del values[name]
            del arguments, outputs
        return CapturedPieces(calls, address_of(values[self.step.result]), addresses(inputs))

    def _attended(self, made_before, like: torch.Tensor) -> torch.Tensor:
        """Where the next attention call leaves its result, of the shape of its first argument."""
        buffer = next(made_before, None)
        if buffer is None:
            buffer = torch.zeros_like(like)
            self.attended.append(buffer)
        return buffer[: len(like)]


@dataclass(frozen=True)
class AttentionCall:
    """Attention between two pieces: it runs anew each time, and leaves its result where the next piece reads it."""

    run: Callable[..., tuple]
    arguments: list
    result: torch.Tensor

    def __call__(self) -> None:
        self.result.copy_(self.run(*self.arguments)[0])


@dataclass(frozen=True)
class CapturedPieces:
    """The step at one size: replays and attention calls in turn, and where the last one leaves hidden states."""

    calls: list[Callable[[], object]]
    hidden: torch.Tensor
    addresses: list[int]

    def replay(self, inputs: StepInputs) -> torch.Tensor:
        """Hidden states [size, hidden], which the next replay overwrites. `inputs` are padded to the size."""
        if addresses(inputs) != self.addresses:
            raise RuntimeError("the step's buffers have moved since the capture: the graphs read the old memory")
        for call in self.calls:
            call()
        return self.hidden


def address_of(value):
    """A tensor on the same memory that does not keep it: for memory that a pool keeps. Other values as they are."""
    if not isinstance(value, torch.Tensor):
        return value
    memory = value.untyped_storage()
    unowned = torch._C._construct_storage_from_data_pointer(memory.data_ptr(), value.device, memory.nbytes())
    return value.new_empty(0).set_(unowned, value.storage_offset(), value.shape, value.stride())
