"""The paged KV cache: memory in fixed blocks, and a table per request that says which blocks are its own.

Position p of a request lies in block `block_table[p // block_size]`, at offset `p % block_size`. The two
numbers together make a slot, `block * block_size + offset`. No key ever moves, so a graph that was
captured once finds the cache where it was, and only small tables change from step to step.
"""

from collections import deque
from collections.abc import Iterable, Sequence

import torch


class BlockPool:
    """Which blocks are free. Hands out 0 .. num_blocks - 1 in order; freed blocks go to the end of the line.

    The engine takes block 0 first and keeps it: the null block, which fills up the tables of padded rows.
    """

    def __init__(self, num_blocks: int):
        self._num_blocks = num_blocks
        self._free = deque(range(num_blocks))
        self._used = set()

    def num_free(self) -> int:
        return len(self._free)

    def allocate(self, n: int) -> list[int] | None:
        """`n` blocks, or None, and nothing taken, when fewer are free. ValueError when `n` is negative."""
        if n < 0:
            raise ValueError(f"cannot allocate {n} blocks")
        if n > len(self._free):
            return None
        blocks = [self._free.popleft() for _ in range(n)]
        self._used.update(blocks)
        return blocks

    def free(self, blocks: Iterable[int]) -> None:
        """Give `blocks` back. ValueError, and nothing freed, when one of them was not handed out."""
        blocks, seen = list(blocks), set()
        for block in blocks:
            if block not in self._used or block in seen:
                known = 0 <= block < self._num_blocks
                what = "it is free already" if known else f"the pool has blocks 0 to {self._num_blocks - 1}"
                raise ValueError(f"cannot free block {block}: {what}")
            seen.add(block)
        self._used.difference_update(blocks)
        self._free.extend(blocks)


class PagedKVCache:
    """Keys and values of all layers: `.k[layer]` and `.v[layer]`, each [num_blocks, block_size, n_kv, hd].

    Allocated once, zero at first. Addresses never change.
    """

    def __init__(
        self,
        num_layers: int,
        num_blocks: int,
        block_size: int,
        num_kv_heads: int,
        head_dim: int,
        dtype: torch.dtype = torch.float32,
        device="cpu",
    ):
        self.num_blocks, self.block_size = num_blocks, block_size
        slots = num_blocks * block_size
        # One row more than there are slots. To an index, -1 is the last row: here one that no block owns.
        # So 'write nothing' needs no test, no copy of the kept rows, and no word from the host.
        self._rows = torch.zeros(2, num_layers, slots + 1, num_kv_heads, head_dim, dtype=dtype, device=device)
        shape = (num_blocks, block_size, num_kv_heads, head_dim)
        self.k, self.v = ([layer[:slots].view(shape) for layer in part] for part in self._rows)

    def write(self, layer: int, slot_mapping, k, v) -> None:
        """Put k and v [N, n_kv, hd] into the slots of `slot_mapping` [N] (int64); slot -1 writes nothing.

        Safe to capture in a graph. Raises ValueError when the three differ in length.
        """
        if not len(slot_mapping) == len(k) == len(v):
            raise ValueError(f"{len(slot_mapping)} slots for {len(k)} keys and {len(v)} values")
        rows_k, rows_v = self._rows[:, layer]
        rows_k[slot_mapping] = k.to(rows_k.dtype)
        rows_v[slot_mapping] = v.to(rows_v.dtype)

    def gather(self, layer: int, block_table: Sequence[int], seq_len: int):
        """Keys and values of the first `seq_len` positions of one request: two [seq_len, n_kv, hd].

        Raises ValueError when the table holds fewer positions.
        """
        if seq_len > len(block_table) * self.block_size:
            raise ValueError(_too_long(seq_len, block_table, self.block_size))
        blocks = torch.tensor(list(block_table), dtype=torch.long, device=self._rows.device)
        return tuple(part[layer][blocks].flatten(0, 1)[:seq_len] for part in (self.k, self.v))


def slot_mapping_for(block_table: Sequence[int], positions: Iterable[int], block_size: int) -> list[int]:
    """The slot of each of one request's `positions`. ValueError when its table does not reach that far."""
    end = len(block_table) * block_size
    slots = []
    for position in positions:
        if not 0 <= position < end:
            raise ValueError(_too_long(position + 1, block_table, block_size))
        slots.append(block_table[position // block_size] * block_size + position % block_size)
    return slots


def paged_attention(q, kv: PagedKVCache, layer: int, block_tables, seq_lens, query_start_loc, scale: float):
    """Causal attention of a flat batch, one request after another: q [N, nh, hd] -> [N, nh, hd].

    Rows `query_start_loc[r]` .. `query_start_loc[r + 1]` of q are the last of request r's `seq_lens[r]`
    positions, whose keys and values `kv` holds already. Rows after the last request are padding: zeros.
    The plain reference. A graph cannot hold it: it reads Python lists, and a captured list never changes.
    """
    out = torch.zeros_like(q)
    for r, (block_table, seq_len) in enumerate(zip(block_tables, seq_lens, strict=True)):
        start, end = query_start_loc[r], query_start_loc[r + 1]
        keys, values = kv.gather(layer, block_table, seq_len)
        group = q.shape[1] // keys.shape[1]  # query heads that share a KV head
        keys, values = (part.repeat_interleave(group, dim=1) for part in (keys, values))
        scores = torch.einsum("qhd,khd->hqk", q[start:end], keys) * scale
        # query i of T sees keys 0 .. seq_len - T + i
        T = end - start
        visible = torch.ones(T, seq_len, dtype=torch.bool, device=q.device).tril(diagonal=seq_len - T)
        weights = scores.masked_fill(~visible, float("-inf")).float().softmax(dim=-1).to(q.dtype)
        out[start:end] = torch.einsum("hqk,khd->qhd", weights, values)
    return out


def _too_long(length: int, block_table: Sequence[int], block_size: int) -> str:
    room = len(block_table) * block_size
    return f"{length} positions do not fit into {len(block_table)} blocks of {block_size}, which hold {room}"
