"""Attention over the paged cache: one call per layer, and several backends that can answer it.

`attend` is all that the model sees: q, k, v in, the result out. Where the cache is, which requests the rows
belong to and how long these are, it finds in the forward context, which is set once per step. Every layer
is thereby the same function of tensors, and the model can be cut in two at each of these calls: the
operator `mini_llm::attention` is `attend` as one opaque call, which a traced step is split at.

Inside a graph nothing is opaque: it keeps the kernels that the backend launched, and the addresses they
read. So a backend says, as its `support`, for which batches its work depends on fixed buffers alone.
"""

from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from mini_llm.batch import Run, StepInputs
from mini_llm.dispatch import AttentionCGSupport
from mini_llm.paged import PagedKVCache, paged_attention


class AttentionBackend:
    """Computes causal attention of a step whose keys and values are in the cache already."""

    support = AttentionCGSupport.NEVER

    def __call__(self, q, kv: PagedKVCache, layer: int, inputs: StepInputs):
        """q [N, nh, hd] -> [N, nh, hd]; finite q in rows of padding give zeros. Scores are over sqrt(hd).

        In a graph `inputs` holds no lists and no lengths (`StepBuffers.view`).
        """
        raise NotImplementedError


class ReferenceBackend(AttentionBackend):
    """One request after another, in plain PyTorch, by Python lists: for any batch, and for no graph."""

    def __call__(self, q, kv, layer, inputs):
        batch = inputs.batch
        if batch is None:
            raise RuntimeError("the reference attention reads Python lists, which a graph cannot: use another")
        tables, lengths, bounds = batch.block_tables, batch.seq_lens, batch.query_start_loc
        return paged_attention(q, kv, layer, tables, lengths, bounds, q.shape[-1] ** -0.5)


class SDPABackend(AttentionBackend):
    """Gathers the blocks of many requests at once and gives them to scaled_dot_product_attention.

    Requests with equally many tokens are computed together. In a graph there is one such run, as wide as
    the block table: correct for any length, and as slow as the longest.
    """

    support = AttentionCGSupport.UNIFORM_BATCH

    def __call__(self, q, kv, layer, inputs):
        if inputs.runs is None:
            return self.any_batch(q, kv, layer, inputs)
        if inputs.runs[0].end == len(q):
            return self.uniform(q, kv, layer, inputs, inputs.runs[0])
        out = torch.zeros_like(q)
        for run in inputs.runs:
            out[run.start : run.end] = self.uniform(q[run.start : run.end], kv, layer, inputs, run)
        return out

    def uniform(self, q, kv, layer, inputs, run: Run):
        """The rows of one run: q [requests * query_len, nh, hd] -> the same shape."""
        table, seq_lens = inputs.block_table[run.first : run.last], inputs.seq_lens[run.first : run.last]
        if run.max_seq_len is not None:
            table = table[:, : -(-run.max_seq_len // kv.block_size)]
        return _gathered_attention(q, kv, layer, table, seq_lens)

    def any_batch(self, q, kv, layer, inputs):
        """A batch that only the tensors describe: what a graph for mixed batches needs."""
        raise RuntimeError("this attention is captured for uniform batches only: use PIECEWISE for the others")


class PerTokenSDPABackend(SDPABackend):
    """Can be captured for any batch: each token counts as a request of its own, and every batch is uniform.

    The keys of a prompt are gathered once for each of its tokens, so this is for small models and tests.
    """

    support = AttentionCGSupport.ALWAYS

    def any_batch(self, q, kv, layer, inputs):
        row = torch.arange(len(q), device=q.device)
        ends = inputs.query_start_loc[1:]
        request = torch.searchsorted(ends, row, right=True).clamp(max=len(ends) - 1)
        seen = inputs.seq_lens[request] - (ends[request] - 1 - row)  # a token sees none of those after it
        seen = torch.where(row < ends[-1], seen, 0)  # rows after the last request are padding
        return _gathered_attention(q, kv, layer, inputs.block_table[request], seen)


class TritonBackend(SDPABackend):
    """A kernel that reads each key where it lies and splits long contexts over the GPU (`kernels/`).

    For prefill, where many rows share their keys, it leaves the work to SDPA if it may look at the lengths.
    """

    support = AttentionCGSupport.ALWAYS
    longest_query = 8  # from here on gathering the keys once is cheaper than reading them for every row

    def __init__(self, device="cuda"):
        from mini_llm.kernels import why_no_triton

        reason = why_no_triton(device)
        if reason:
            raise RuntimeError(f"the Triton attention cannot run: {reason}")
        from mini_llm.kernels.paged_decode import paged_decode

        self._kernel = paged_decode

    def uniform(self, q, kv, layer, inputs, run):
        if run.query_len > self.longest_query:
            return super().uniform(q, kv, layer, inputs, run)
        requests = slice(run.first, run.last)
        return self._kernel(
            q, kv.k[layer], kv.v[layer], inputs.block_table[requests], inputs.seq_lens[requests],
            query_len=run.query_len, max_seq_len=run.max_seq_len,
        )  # fmt: skip

    def any_batch(self, q, kv, layer, inputs):
        return self._kernel(q, kv.k[layer], kv.v[layer], inputs.block_table, inputs.seq_lens, inputs.query_start_loc)


BACKENDS = {
    "reference": ReferenceBackend,
    "sdpa": SDPABackend,
    "sdpa_per_token": PerTokenSDPABackend,
    "triton": TritonBackend,
}


def attention_backend(name: str | None = None, device="cpu") -> AttentionBackend:
    """The backend of that name; with None the fastest that runs on `device`.

    Raises ValueError for an unknown name, RuntimeError for one that cannot run here.
    """
    if name is None:
        from mini_llm.kernels import why_no_triton

        name = "triton" if torch.device(device).type == "cuda" and not why_no_triton() else "sdpa"
    if name not in BACKENDS:
        raise ValueError(f"there is no attention backend {name!r}, only {', '.join(BACKENDS)}")
    return TritonBackend(device) if name == "triton" else BACKENDS[name]()


def _gathered_attention(q, kv: PagedKVCache, layer: int, block_table, seq_lens):
    """q [R * Q, nh, hd], the last Q positions of R requests -> the same shape. Tensors only: capturable.

    block_table [R, W]; seq_lens [R], where a request of length 0 gets zeros.
    """
    R, W = block_table.shape
    Q, L = len(q) // R, W * kv.block_size
    nkv, hd = kv.k[layer].shape[2:]
    key = torch.arange(L, device=q.device)
    # [R, Q]: query i of Q sees this many keys
    seen = seq_lens[:, None] - torch.arange(Q - 1, -1, -1, device=q.device)

    # Whatever lies in a slot that is not this request's must not even be multiplied by zero: it may be nan.
    unused = (key >= seq_lens[:, None])[:, :, None, None]
    keys, values = (
        part[layer][block_table].view(R, L, nkv, hd).masked_fill(unused, 0).transpose(1, 2) for part in (kv.k, kv.v)
    )
    # Query heads that share a KV head stand in line as further queries of it, so no key is copied for them.
    queries = q.view(R, Q, nkv, -1, hd).permute(0, 2, 3, 1, 4)  # [R, nkv, group, Q, hd]
    group = queries.shape[2]
    visible = (key < seen[:, :, None]) | (key == 0)  # key 0, so that softmax has something in padded rows
    visible = visible[:, None, None].expand(R, 1, group, Q, L).reshape(R, 1, group * Q, L)
    out = F.scaled_dot_product_attention(queries.reshape(R, nkv, group * Q, hd), keys, values, attn_mask=visible)
    return out.view(R, nkv, group, Q, hd).permute(0, 3, 1, 2, 4).reshape(q.shape)


# --- the context of a step ------------------------------------------------------------------------


@dataclass(frozen=True)
class ForwardContext:
    """What the attention layers of one step share."""

    kv: PagedKVCache
    backend: AttentionBackend
    inputs: StepInputs


_context: ForwardContext | None = None


@contextmanager
def forward_context(kv: PagedKVCache, backend: AttentionBackend, inputs: StepInputs):
    """While this is open, attention uses this cache, this backend and these inputs."""
    global _context
    outer, _context = _context, ForwardContext(kv, backend, inputs)
    try:
        yield
    finally:
        _context = outer


def attend(q, k, v, layer: int):
    """Write k and v [N, n_kv, hd] to `layer`'s cache, then attend: q [N, nh, hd] -> [N, nh, hd].

    k and v may be None where a fused kernel has written them. Raises RuntimeError outside of a
    `forward_context`.
    """
    if _context is None:
        raise RuntimeError("attention needs a cache and a batch: open a forward_context around the step")
    kv, inputs = _context.kv, _context.inputs
    if k is not None:
        kv.write(layer, inputs.slot_mapping, k, v)
    return _context.backend(q, kv, layer, inputs)


@torch.library.custom_op("mini_llm::attention", mutates_args=())
def attention_op(q: torch.Tensor, k: torch.Tensor | None, v: torch.Tensor | None, layer: int) -> torch.Tensor:
    """`attend` as one operator: a tracer sees its name and shapes, and nothing behind them."""
    return attend(q, k, v, layer)


@attention_op.register_fake
def _(q, k, v, layer):
    return torch.empty_like(q)
