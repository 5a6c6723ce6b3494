"""Compile the step once for every size, and let a pass put hand-written kernels into its graph.

Two ways to fewer kernels. Inductor fuses what lies between matrix products by itself. Some things it cannot
know: that q, k and v may come of one product, that rotated keys may go to the cache at once. A pass over the
traced graph finds these places, by patterns that are traced from the plain layers, and puts one operator
there, which is a Triton kernel on a GPU and its plain twin elsewhere.

The pieces are compiled, not the step: attention between them stays as it is, and equal pieces share their
code, so a model of any depth takes three compilations for each range of sizes.
"""

import logging
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import getitem
from types import SimpleNamespace

import torch
import torch.nn.functional as F
from torch.fx import Graph, GraphModule
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.passes.utils.matcher_utils import SubgraphMatcher

from mini_llm.batch import StepBuffers, StepInputs
from mini_llm.compile_cache import CompileKey, code_kept_in
from mini_llm.fused_ops import cache_rows
from mini_llm.kernels.decode_attention import rope_table
from mini_llm.layers import RMSNorm, apply_rope
from mini_llm.paged import PagedKVCache
from mini_llm.piecewise import Piece, SplitStep, trace_step
from mini_llm.step import logits
from mini_llm.tape import opaque

logger = logging.getLogger(__name__)
aten = torch.ops.aten
PRODUCTS = (aten.mm.default, aten.addmm.default)


# --- the pass -------------------------------------------------------------------------------------


def fuse(graph_module: GraphModule, cfg, max_positions: int) -> Counter:
    """Put the fused operators into the traced step, in place; return how often each was put in.

    The step then has more inputs, slot_mapping and all `cache_rows`: it writes keys and values by itself, and
    attention finds them there.
    """
    graph, put = graph_module.graph, Counter()
    weights = graph.find_nodes(op="get_attr")
    first = next(iter(graph.nodes))
    for node in weights:
        first.prepend(node)  # a weight stands before whatever may use it
    embedding = getattr(graph_module, weights[0].target)
    dtype, device = embedding.dtype, embedding.device
    put["products"] = merge_products(graph_module)

    sums = {}
    for (x, delta, gain), (total, normed) in matches(graph, *_add_norm_pattern(cfg, dtype)):
        x = sums.get(x, x)  # what the match found may be the sum of the layer before, which is replaced by now
        if delta.target not in PRODUCTS or len(delta.users) > 1:
            continue  # only what nobody else reads may be overwritten
        with graph.inserting_before(total):
            new = graph.call_function(torch.ops.mini_llm.add_rms_norm.default, (x, delta, gain, cfg.rms_norm_eps))
        total.replace_all_uses_with(delta)
        sums[total] = delta
        normed.replace_all_uses_with(new)
        put["add_rms_norm"] += 1

    for (gate_up,), (out,) in matches(graph, *_silu_mul_pattern(cfg, dtype)):
        with graph.inserting_before(out):
            out.replace_all_uses_with(graph.call_function(torch.ops.mini_llm.silu_mul.default, (gate_up,)))
        put["silu_mul"] += 1

    with graph.inserting_before(first):
        rope = _constant(graph_module, "rope", rope_table(max_positions, cfg.hd, cfg.rope_theta, device))
        slot_mapping = graph.placeholder("slot_mapping")
        rows = [[graph.placeholder(f"{kind}_rows_{i}") for kind in "kv"] for i in range(cfg.num_hidden_layers)]
    positions = next(node for node in graph.find_nodes(op="placeholder") if node.name == "positions")
    for (qkv, _cos, _sin, *gains), (q, *_) in matches(graph, *_qkv_pattern(cfg, dtype)):
        (attention,) = q.users
        layer = attention.args[3]
        arguments = (qkv, *rows[layer], gains, cfg.rms_norm_eps, rope, positions, slot_mapping)
        with graph.inserting_before(attention):
            new = graph.call_function(torch.ops.mini_llm.norm_rope_write.default, arguments)
        attention.args = (new, None, None, layer)
        put["norm_rope_write"] += 1

    graph.eliminate_dead_code()
    graph.lint()
    graph_module.recompile()
    return put


def merge_products(graph_module: GraphModule) -> int:
    """Make one product of those that multiply the same x, so x is read once; return how many it made.

    The weights are put together in memory, and the model's own become views of that: nothing is kept twice.
    """
    graph, groups = graph_module.graph, defaultdict(list)
    for node in graph.nodes:
        if node.target in PRODUCTS and node.args[-1].target is aten.t.default:
            groups[node.target, node.args[-2]].append(node)
    groups = [(x, nodes) for (_, x), nodes in groups.items() if len(nodes) > 1]
    first = next(iter(graph.nodes))
    for number, (x, nodes) in enumerate(groups):
        parts = [[node.args[-1].args[0] for node in nodes]]  # weights, then biases if there are any
        if nodes[0].target is aten.addmm.default:
            parts.append([node.args[0] for node in nodes])
        with graph.inserting_before(first):
            weight, *bias = (
                _constant(graph_module, f"packed_{number}_{kind}", _pack(graph_module, nodes))
                for kind, nodes in zip(("weight", "bias"), parts, strict=False)
            )
        with graph.inserting_before(nodes[0]):
            product = graph.call_function(nodes[0].target, (*bias, x, graph.call_function(aten.t.default, (weight,))))
            widths = [getattr(graph_module, node.target).shape[0] for node in parts[0]]
            split = graph.call_function(aten.split_with_sizes.default, (product, widths, -1))
            for i, node in enumerate(nodes):
                node.replace_all_uses_with(graph.call_function(getitem, (split, i)))
    graph.eliminate_dead_code()
    return len(groups)


def matches(graph: Graph, function: Callable, *examples):
    """Where `graph` does what `function` does of tensors like `examples`: pairs of input and output nodes."""
    pattern = make_fx(function)(*examples).graph
    outputs = pattern.output_node().all_input_nodes
    for match in SubgraphMatcher(pattern).match(graph):
        yield match.placeholder_nodes, [match.nodes_map[output] for output in outputs]


# The patterns call the plain layers, so the tracer writes them as it wrote the step.


def _norm(x, gain, eps):
    return RMSNorm.forward(SimpleNamespace(weight=gain, eps=eps), x)


def _add_norm_pattern(cfg, dtype):
    def pattern(x, delta, gain):
        total = x + delta
        return total, _norm(total, gain, cfg.rms_norm_eps)

    return pattern, *torch.zeros(2, 3, cfg.hidden_size, dtype=dtype), torch.zeros(cfg.hidden_size, dtype=dtype)


def _silu_mul_pattern(cfg, dtype):
    def pattern(gate_up):
        gate, up = gate_up.split([cfg.intermediate_size] * 2, dim=-1)
        return F.silu(gate) * up

    return pattern, torch.zeros(3, 2 * cfg.intermediate_size, dtype=dtype)


def _qkv_pattern(cfg, dtype):
    heads = cfg.num_attention_heads, cfg.num_key_value_heads, cfg.num_key_value_heads

    def pattern(qkv, cos, sin, *gains):
        parts = qkv.split([n * cfg.hd for n in heads], dim=-1)
        q, k, v = (part.view(-1, n, cfg.hd) for part, n in zip(parts, heads, strict=True))
        if gains:
            q, k = _norm(q, gains[0], cfg.rms_norm_eps), _norm(k, gains[1], cfg.rms_norm_eps)
        return apply_rope(q, cos, sin), apply_rope(k, cos, sin), v

    gains = torch.zeros(2 * cfg.qk_norm, cfg.hd, dtype=dtype)
    return pattern, torch.zeros(3, sum(heads) * cfg.hd, dtype=dtype), *torch.zeros(2, 3, 1, cfg.hd), *gains


def _constant(graph_module: GraphModule, name: str, tensor: torch.Tensor):
    graph_module.register_buffer(name, tensor)
    return graph_module.graph.get_attr(name)


def _pack(graph_module: GraphModule, nodes) -> torch.Tensor:
    """The weights of these nodes in one tensor, which they then lie in."""
    weights = [getattr(graph_module, node.target) for node in nodes]
    packed = torch.cat([weight.data for weight in weights])
    for weight, part in zip(weights, packed.split([len(weight) for weight in weights]), strict=True):
        weight.data = part
    return packed


# --- compile --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Version:
    """Code for `low` .. `high` tokens; `high` None: for any number from `low` on."""

    low: int
    high: int | None

    def takes(self, tokens: int) -> bool:
        return self.low <= tokens and (self.high is None or tokens <= self.high)

    @property
    def example(self) -> int:
        """A number of tokens to compile with. Small, but no number that torch would take for a constant."""
        return max(self.low, min(16, self.high or 16))


def versions(compile_sizes: Sequence[int] = (), compile_ranges_endpoints: Sequence[int] = ()) -> list[Version]:
    """What to compile, the most special first: single sizes, then ranges that end at the endpoints and beyond.

    1 is always a size of its own: torch takes a dimension of 1 for a constant, whatever it is told, and code
    that it compiled for 2 and more would be compiled again for 1, in the middle of work.
    As vLLM's `compile_sizes` and `compile_ranges_endpoints` (0.33.0). Raises ValueError for a size below 1.
    """
    sizes = sorted({1, *compile_sizes})
    if min(sizes[0], *compile_ranges_endpoints, 1) < 1:
        raise ValueError("compiled sizes and the ends of ranges are at least 1")
    ends = sorted({end for end in compile_ranges_endpoints if end > 1})
    ranges = [Version(low + 1, high) for low, high in zip([1, *ends], [*ends, None], strict=True)]
    return list(dict.fromkeys([Version(size, size) for size in sizes] + ranges))


class CompiledPiece:
    """A piece in several versions, each compiled at its first call."""

    def __init__(self, module: GraphModule, name: str, versions: Sequence[Version], **options):
        self.versions = []
        for version in versions:
            # torch.compile keeps code by function: with one of its own, a version never meets another's guards
            own = GraphModule(module, module.graph)
            code = torch.compile(own.forward, dynamic=False, fullgraph=True, **options)
            # On a tape, one operator. It writes to the cache, but not while recorded: then all slots are -1.
            self.versions.append((version, opaque(code, name)))

    @torch.no_grad()  # the code has a guard on it
    def run(self, tokens: int, *args) -> tuple:
        for version, code in self.versions:
            if version.takes(tokens):
                return code(*args)
        raise ValueError(f"nothing was compiled for {tokens} tokens")


class CompiledStep(SplitStep):
    """A SplitStep whose pieces are compiled, by `start_up`. A fused one needs `use_cache` before its first step.

    `options` are those of torch.compile. `.put` says what the pass has put in.
    """

    def __init__(self, graph_module: GraphModule, head: Callable, versions: Sequence[Version], put=(), **options):
        self.versions, self.put, self._options = list(versions), Counter(put), options
        self._compiled: dict[tuple, CompiledPiece] = {}
        super().__init__(graph_module, head)

    @property
    def compilations(self) -> int:
        """How many times the compiler runs: distinct pieces times versions, whatever the number of layers."""
        return len(self._compiled) * len(self.versions)

    def faster(self, piece: Piece) -> Callable:
        shapes = [self.weights[name].shape for name in piece.inputs if name in self.weights]
        key = piece.module.code, tuple(shapes)
        if key not in self._compiled:
            name = f"compiled_piece_{len(self._compiled)}"
            self._compiled[key] = CompiledPiece(piece.module, name, self.versions, **self._options)
        run = self._compiled[key].run
        # whatever is neither weight nor cache has a row for each token
        place = next(i for i, n in enumerate(piece.inputs) if n not in self.weights and "_rows_" not in n)
        return lambda *args: run(len(args[place]), *args)

    def use_cache(self, kv: PagedKVCache) -> None:
        """From here on keys and values go to `kv`. Graphs keep the cache that they were captured with."""
        if self.put["norm_rope_write"]:
            self.cache = cache_rows(kv)

    def start(self, inputs: StepInputs) -> dict[str, torch.Tensor]:
        if self.put["norm_rope_write"] and not self.cache:
            raise RuntimeError("a fused step writes keys and values by itself: tell it where, with use_cache(kv)")
        return super().start(inputs)

    def start_up(self, kv: PagedKVCache) -> None:
        """Compile every version by running it on padding. Any cache of the model's shape will do."""
        self.use_cache(kv)
        device = next(iter(self.weights.values())).device
        for version in self.versions:
            values = self.start(StepBuffers(version.example, version.example, 1, device).view(version.example))
            for piece in self.pieces:
                if piece.splits:
                    values[piece.outputs[0]] = torch.zeros_like(values[piece.inputs[0]])
                    continue
                for name in piece.inputs:
                    if name in self.cache:  # one of another size needs no other code
                        torch._dynamo.mark_dynamic(values[name], 0)
                    elif name not in self.weights and version.low != version.high:
                        limits = {"min": version.low, "max": version.high} if version.high else {}
                        torch._dynamo.mark_dynamic(values[name], 0, **limits)
                outputs = piece.run(*(values[name] for name in piece.inputs))
                values.update(zip(piece.outputs, outputs, strict=True))
        self.cache = {}


def compile_step(
    model,
    kv: PagedKVCache | None = None,
    max_positions: int | None = None,
    *,
    fusions: bool = True,
    compile_sizes: Sequence[int] = (),
    compile_ranges_endpoints: Sequence[int] = (),
    level: int | None = None,
    max_num_seqs: int = 256,
    max_num_batched_tokens: int = 8192,
    cache_dir=None,
    **options,
) -> CompiledStep:
    """The step of `model` in compiled pieces, ready for any number of tokens: nothing is compiled after this.

    `kv` is where a fused step writes; it can be given later, by `use_cache`. `max_positions`: no position is as
    large; by default what `kv` holds. `fusions`: put the hand-written kernels in. For sizes and ranges see
    `versions`. The next three change no code today, and yet are part of the key under which the code is kept in
    `cache_dir` (see `CompileKey.folder`). `options` go to torch.compile.
    """
    start, cfg, weight = time.perf_counter(), model.cfg, model.embed_tokens.weight
    graph_module, put = trace_step(model), ()
    any_kv = PagedKVCache(cfg.num_hidden_layers, 2, 16, cfg.num_key_value_heads, cfg.hd, weight.dtype, weight.device)
    if max_positions is None:
        max_positions = (kv or any_kv).num_blocks * (kv or any_kv).block_size
    if fusions:
        put = fuse(graph_module, cfg, max_positions)
        if len(put) < 4 or min(put.values()) < cfg.num_hidden_layers:
            logger.warning("fusions are missing from some layers, which will be slower: put in only %s", dict(put))
    key = CompileKey.of(
        model, options, level=level, fusions=fusions, compile_sizes=compile_sizes, max_num_seqs=max_num_seqs,
        compile_ranges_endpoints=compile_ranges_endpoints, max_num_batched_tokens=max_num_batched_tokens,
        max_positions=max_positions,
    )  # fmt: skip
    wanted = versions(compile_sizes, compile_ranges_endpoints)
    step = CompiledStep(graph_module, lambda hidden: logits(model, hidden), wanted, put, **options)
    with code_kept_in(key.folder(cache_dir)):
        step.start_up(any_kv)
    if kv is not None:
        step.use_cache(kv)
    logger.info("compiled %d pieces of code in %.1f s", step.compilations, time.perf_counter() - start)
    return step
