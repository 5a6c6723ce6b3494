"""What the kernel tests share: requests of given lengths in a paged cache, and a measure of error."""

from types import SimpleNamespace

import torch

from mini_llm.paged import PagedKVCache


def error(ours, expected) -> float:
    """||ours - expected|| / ||expected||, in fp64; nan where one of them has a nan."""
    ours, expected = ours.double(), expected.double()
    return ((ours - expected).norm() / expected.norm()).item()


def step_inputs(seq_lens, block_size=4, spare=3, device="cpu", padding=0):
    """One new token for each request of `seq_lens` (it counted), in blocks that lie in no order.

    Returns StepInputs-like tensors and the number of blocks. `padding` rows follow, as StepBuffers pads them.
    """
    needed = [-(-length // block_size) for length in seq_lens]
    num_blocks = 1 + sum(needed) + spare  # block 0 is the null block
    order = (1 + torch.randperm(num_blocks - 1)).tolist()
    table = torch.zeros(len(seq_lens) + padding, max(needed), dtype=torch.long)
    slots = []
    for row, (count, length) in enumerate(zip(needed, seq_lens, strict=True)):
        table[row, :count] = torch.tensor([order.pop() for _ in range(count)])
        last = length - 1
        slots.append(table[row, last // block_size].item() * block_size + last % block_size)
    inputs = SimpleNamespace(
        input_ids=torch.zeros(len(table), dtype=torch.long),
        positions=torch.tensor([length - 1 for length in seq_lens] + [0] * padding),
        slot_mapping=torch.tensor(slots + [-1] * padding),
        seq_lens=torch.tensor(list(seq_lens) + [0] * padding),
        block_table=table,
    )
    for name, tensor in vars(inputs).items():
        setattr(inputs, name, tensor.to(device))
    return inputs, num_blocks


def random_cache(num_layers, num_blocks, block_size, num_kv_heads, head_dim, dtype, device) -> PagedKVCache:
    kv = PagedKVCache(num_layers, num_blocks, block_size, num_kv_heads, head_dim, dtype, device)
    for part in (*kv.k, *kv.v):
        part.normal_()
    return kv


def copy_of(kv: PagedKVCache) -> PagedKVCache:
    block_size, num_kv_heads, head_dim = kv.k[0].shape[1:]
    twin = PagedKVCache(len(kv.k), kv.num_blocks, block_size, num_kv_heads, head_dim, kv.k[0].dtype, kv.k[0].device)
    for ours, theirs in zip((*twin.k, *twin.v), (*kv.k, *kv.v), strict=True):
        ours.copy_(theirs)
    return twin
