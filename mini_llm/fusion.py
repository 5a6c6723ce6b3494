"""Compile the step once for every size, and let a pass put hand-written kernels into its graph.

Inductor fuses by itself what lies between matrix products. Some things it cannot know: that q, k and v may come
of one product, that rotated keys may go to the cache at once. A pass over the traced graph finds these places, by
patterns that are traced from the plain layers, and puts one operator there: a Triton kernel on a GPU, its plain
twin elsewhere.

The pieces are compiled, not the step: attention between them stays as it is, and equal pieces share their code, so
a model of any depth takes three compilations for each range of sizes. The trace is what Dynamo would make of the
step, so the pieces go to Inductor as they are, and come back without guards: no call can ever compile them again.
"""

import copy
import itertools
import logging
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import getitem
from types import SimpleNamespace

import torch
import torch.nn.functional as F
from torch._dynamo.source import ConstantSource
from torch._subclasses import FakeTensorMode
from torch.fx import Graph, GraphModule
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StrictMinMaxConstraint
from torch.fx.passes.utils.matcher_utils import SubgraphMatcher
from torch.utils._sympy.value_ranges import ValueRanges

from mini_llm.batch import StepInputs
from mini_llm.compile_cache import CompileKey, KeptCompiler
from mini_llm.fused_ops import cache_rows
from mini_llm.kernels.decode_attention import rope_table
from mini_llm.layers import RMSNorm, apply_rope
from mini_llm.paged import PagedKVCache
from mini_llm.piecewise import Piece, SplitStep, trace_step
from mini_llm.step import logits
from mini_llm.tape import opaque
from mini_llm.weights import side_by_side

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
    slot_mapping.meta = dict(positions.meta)
    for node in itertools.chain(*rows):
        node.meta["val"] = torch.empty(1, cfg.num_key_value_heads, cfg.hd, dtype=dtype, device="meta")
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
    groups = [(op, x, nodes) for (op, x), nodes in groups.items() if len(nodes) > 1]
    first = next(iter(graph.nodes))

    def packed(name, nodes):
        together = side_by_side([getattr(graph_module, node.target) for node in nodes])
        with graph.inserting_before(first):
            return _constant(graph_module, name, together)

    for number, (op, x, nodes) in enumerate(groups):
        weights = [node.args[-1].args[0] for node in nodes]
        weight = packed(f"packed_{number}_weight", weights)
        bias = [packed(f"packed_{number}_bias", [node.args[0] for node in nodes])] if op is aten.addmm.default else []
        with graph.inserting_before(nodes[0]):
            product = graph.call_function(op, (*bias, x, graph.call_function(aten.t.default, (weight,))))
            widths = [len(getattr(graph_module, weight.target)) for weight in weights]
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


# --- compile --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Version:
    """Code for `low` .. `high` tokens; `high` None: for any number from `low` on."""

    low: int
    high: int | None

    def takes(self, tokens: int) -> bool:
        return self.low <= tokens and (self.high is None or tokens <= self.high)


def versions(compile_sizes: Sequence[int] = (), compile_ranges_endpoints: Sequence[int] = ()) -> list[Version]:
    """What to compile, the most special first: single sizes, then ranges that end at the endpoints and beyond.

    1 is always a size of its own: to torch a dimension of 1 is a constant, so code for 2 and more cannot serve it.
    As vLLM's `compile_sizes` and `compile_ranges_endpoints` (0.33.0). Raises ValueError for a size below 1.
    """
    sizes = sorted({1, *compile_sizes})
    if min(sizes[0], *compile_ranges_endpoints, 1) < 1:
        raise ValueError("compiled sizes and the ends of ranges are at least 1")
    ends = sorted({end for end in compile_ranges_endpoints if end > 1})
    ranges = [Version(low + 1, high) for low, high in zip([1, *ends], [*ends, None], strict=True)]
    return list(dict.fromkeys([Version(size, size) for size in sizes] + ranges))


def example_inputs(piece: Piece, version: Version, weights: dict[str, torch.Tensor]) -> list[torch.Tensor]:
    """Tensors without memory, to compile `piece` with: of so many tokens as `version` says, a symbol for a range.

    The cache has a symbol for its rows, so one of another size needs no other code.
    """
    shapes = ShapeEnv()

    def symbol(name, low, high):
        limits = StrictMinMaxConstraint(vr=ValueRanges(low, high or sys.maxsize - 1), warn_only=False)
        # small, but no number that torch would take for a constant
        example, source = max(low, min(16, high or 16)), ConstantSource(name)
        size = shapes.create_symbol(example, source, DimDynamic.DYNAMIC, limits)
        return shapes.create_symintnode(size, hint=example, source=source)

    tokens = version.low if version.low == version.high else symbol("tokens", version.low, version.high)
    rows, device = symbol("rows", 2, None), next(iter(weights.values())).device
    examples = []
    with FakeTensorMode(shape_env=shapes):
        for name, node in zip(piece.inputs, piece.module.graph.find_nodes(op="placeholder"), strict=True):
            if name in weights:
                shape, dtype = weights[name].shape, weights[name].dtype
            else:
                like = node.meta["val"]
                shape, dtype = (rows if "_rows_" in name else tokens, *like.shape[1:]), like.dtype
            examples.append(torch.empty(shape, dtype=dtype, device=device))
    return examples


class CompiledStep(SplitStep):
    """A SplitStep whose pieces are compiled. A fused one needs `use_cache` before its first step.

    `compiler(module, examples)` gives the code of a piece. `.put` says what the pass has put in.
    """

    def __init__(self, graph_module: GraphModule, head: Callable, versions: Sequence[Version], put, compiler: Callable):
        self.versions, self.put, self._compiler = list(versions), Counter(put), compiler
        self._compiled: dict[tuple, list[tuple[Version, Callable]]] = {}
        super().__init__(graph_module, head)

    @property
    def compilations(self) -> int:
        """How many times the compiler ran: distinct pieces times versions, whatever the number of layers."""
        return sum(map(len, self._compiled.values()))

    def faster(self, piece: Piece) -> Callable:
        """The piece in its versions: code that an equal piece has already, or new code."""
        key = piece.module.code, tuple(self.weights[name].shape for name in piece.inputs if name in self.weights)
        if key not in self._compiled:
            self._compiled[key] = [(version, self._compile(piece, version)) for version in self.versions]
        codes = self._compiled[key]
        # whatever is neither weight nor cache has a row for each token
        place = next(i for i, n in enumerate(piece.inputs) if n not in self.weights and "_rows_" not in n)

        def run(*args):
            tokens = len(args[place])
            return next(code for version, code in codes if version.takes(tokens))(*args)

        return run

    @torch.no_grad()
    def _compile(self, piece: Piece, version: Version) -> Callable:
        module = copy.deepcopy(piece.module)  # a compiler may change what it is given
        # On a tape, one operator. It writes to the cache, but not while recorded: then all slots are -1.
        return opaque(self._compiler(module, example_inputs(piece, version, self.weights)))

    def use_cache(self, kv: PagedKVCache) -> None:
        """From here on keys and values go to `kv`. Graphs keep the cache that they were captured with."""
        if self.put["norm_rope_write"]:
            self.cache = cache_rows(kv)

    def start(self, inputs: StepInputs) -> dict[str, torch.Tensor]:
        if self.put["norm_rope_write"] and not self.cache:
            raise RuntimeError("a fused step writes keys and values by itself: tell it where, with use_cache(kv)")
        return super().start(inputs)


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
    compiler: Callable | None = None,
    **options,
) -> CompiledStep:
    """The step of `model` in compiled pieces, ready for any number of tokens: nothing is compiled after this.

    `kv` is where a fused step writes; it can be given later, by `use_cache`. `max_positions`: no position is as
    large; by default what `kv` holds, or 4096. `fusions`: put the hand-written kernels in. For sizes and ranges see
    `versions`. The next three change no code today, and yet are part of the key under which the code is kept in
    `cache_dir` (see `CompileKey.folder`). `compiler`: in place of Inductor, whose settings `options` are.
    """
    start, cfg, put = time.perf_counter(), model.cfg, Counter()
    if max_positions is None:
        max_positions = kv.num_blocks * kv.block_size if kv else 4096
    graph_module = trace_step(model)
    if fusions:
        put = fuse(graph_module, cfg, max_positions)
        if len(put) < 4 or min(put.values()) < cfg.num_hidden_layers:
            logger.warning("fusions are missing from some layers, which will be slower: put in only %s", dict(put))
    key = CompileKey.of(
        model, options, level=level, fusions=fusions, compile_sizes=compile_sizes, max_num_seqs=max_num_seqs,
        compile_ranges_endpoints=compile_ranges_endpoints, max_num_batched_tokens=max_num_batched_tokens,
        max_positions=max_positions,
    )  # fmt: skip
    compiler = compiler or KeptCompiler(key.folder(cache_dir), options)
    wanted = versions(compile_sizes, compile_ranges_endpoints)
    step = CompiledStep(graph_module, lambda hidden: logits(model, hidden), wanted, put, compiler)
    if kv is not None:
        step.use_cache(kv)
    logger.info("compiled %d pieces of code in %.1f s", step.compilations, time.perf_counter() - start)
    return step
