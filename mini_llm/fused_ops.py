"""The fused operators that the pass of `fusion.py` puts into a step, as a tracer knows them.

Each is a kernel of `kernels/elementwise.py`: in Triton on a GPU, its plain twin elsewhere. To a compiler they are
opaque calls, so what they change in place they have to declare, with one exception that says why.
"""

import torch

from mini_llm.kernels import elementwise
from mini_llm.paged import PagedKVCache


@torch.library.custom_op("mini_llm::add_rms_norm", mutates_args=("delta",))
def add_rms_norm(x: torch.Tensor, delta: torch.Tensor, gain: torch.Tensor, eps: float) -> torch.Tensor:
    """delta += x, in place, for x [N, hidden]; return RMSNorm(delta) * gain. So x stays as it was."""
    return elementwise.add_rms_norm(delta, x, gain, eps, torch.empty_like(delta))


@torch.library.custom_op("mini_llm::silu_mul", mutates_args=())
def silu_mul(gate_up: torch.Tensor) -> torch.Tensor:
    """gate_up [N, 2 * inter], the gates first -> silu(gate) * up [N, inter]."""
    return elementwise.silu_mul(gate_up, gate_up.new_empty(len(gate_up), gate_up.shape[1] // 2))


# The compiler is not told that this writes to the cache, as it is not told of attention: to be safe it would copy
# the whole cache, at every layer. Nothing in a piece reads it, and attention, which does, waits for the result.
@torch.library.custom_op("mini_llm::norm_rope_write", mutates_args=())
def norm_rope_write(
    qkv: torch.Tensor,
    k_rows: torch.Tensor,
    v_rows: torch.Tensor,
    gains: list[torch.Tensor],
    eps: float,
    rope: torch.Tensor,
    positions: torch.Tensor,
    slot_mapping: torch.Tensor,
) -> torch.Tensor:
    """Norm (by the gains of q and k, if any) and rotate q and k, write k and v to the cache; return q [N, nh, hd].

    qkv [N, (nh + 2 * n_kv) * hd]. `k_rows` and `v_rows` [slots + 1, n_kv, hd] are a layer's `cache_rows`: an
    operator takes tensors only.
    """
    nkv, hd = k_rows.shape[1:]
    out = qkv.new_empty(len(qkv), qkv.shape[1] - 2 * nkv * hd)
    q_gain, k_gain = gains or (None, None)
    kv = CacheRows(k_rows, v_rows)
    elementwise.norm_rope_write(qkv, kv, 0, q_gain, k_gain, eps, rope, positions, slot_mapping, out)
    return out.view(len(qkv), -1, hd)


@add_rms_norm.register_fake
def _(x, delta, gain, eps):
    return torch.empty_like(delta)


@silu_mul.register_fake
def _(gate_up):
    return gate_up.new_empty(gate_up.shape[0], gate_up.shape[1] // 2)


@norm_rope_write.register_fake
def _(qkv, k_rows, v_rows, gains, eps, rope, positions, slot_mapping):
    nkv, hd = k_rows.shape[1:]
    return qkv.new_empty(qkv.shape[0], qkv.shape[1] // hd - 2 * nkv, hd)


class CacheRows:
    """One layer of a PagedKVCache as the kernels take it, on the rows alone, each a block of one slot."""

    def __init__(self, k_rows: torch.Tensor, v_rows: torch.Tensor):
        self._rows = k_rows, v_rows
        self.k, self.v = ([rows[:-1, None]] for rows in self._rows)

    def write(self, layer: int, slot_mapping, k, v) -> None:
        for rows, new in zip(self._rows, (k, v), strict=True):
            rows[slot_mapping] = new.to(rows.dtype)  # -1 is the last row, which no block owns


def cache_rows(kv: PagedKVCache) -> dict[str, torch.Tensor]:
    """Where the keys and values of each layer are written: [slots + 1, n_kv, hd] by name, k_rows_0, v_rows_0 ..."""
    parts = {"k": kv._rows[0], "v": kv._rows[1]}
    rows = {f"{kind}_rows_{layer}": rows for kind, part in parts.items() for layer, rows in enumerate(part)}
    # the same memory, and yet no view: for a view the compiler would put guards on the whole
    return {name: view.new_empty(0).set_(view) for name, view in rows.items()}
