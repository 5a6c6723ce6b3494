"""Where two engines part ways, and why: compare what each layer gave, first layer first.

A wrong number in one layer makes all later layers wrong, so only the first one that differs tells anything. And
no two fast engines agree to the last bit: what differs by rounding only is no fault.
"""

from bisect import bisect_right
from collections.abc import Sequence

import torch

ROUNDING = 16  # how many times the dtype's eps, of a row's largest number, still counts as rounding


def diverging_rows(reference: torch.Tensor, other: torch.Tensor) -> list[int]:
    """The rows of one layer that differ beyond rounding, ascending.

    `reference` [T, hidden] and `other` [P, hidden], P >= T, of any floating dtypes: rows from T on are padding
    and not compared. A row differs when one of its numbers differs by more than 16 eps times the largest number
    (without its sign) of the reference's row, or is nan; eps is that of the coarser dtype.
    """
    eps = max(torch.finfo(each.dtype).eps for each in (reference, other))
    a, b = reference.double(), other[: len(reference)].double()
    limit = ROUNDING * eps * a.abs().amax(dim=1, keepdim=True)
    near = ((a - b).abs() <= limit).all(dim=1)  # false for nan
    return (~near).nonzero().flatten().tolist()


def first_divergence(reference: Sequence[torch.Tensor], other: Sequence[torch.Tensor]) -> int | None:
    """The first layer of which a row differs beyond rounding; None when there is none. One tensor per layer."""
    layers = zip(reference, other, strict=True)
    return next((layer for layer, pair in enumerate(layers) if diverging_rows(*pair)), None)


def name_cause(
    reference: Sequence[torch.Tensor],
    other: Sequence[torch.Tensor],
    before: Sequence[torch.Tensor],
    slot_mapping: Sequence[int],
    query_start_loc: Sequence[int],
    block_tables: Sequence[Sequence[int]],
    block_size: int,
) -> str:
    """Why `other` differs from `reference`, from what it did in this step and, in `before`, in the step before.

    `before` has as many rows as `other`. "same": no number differs, padding aside. "rounding": none does beyond it.
    Else by the rows that differ in the first layer that does: "stale buffer" when each of them is, number by number,
    the same row of the step before; "padding in a live block" when each belongs to a request that has a block into
    which a row of padding wrote; or "unknown". `slot_mapping` holds a slot for each row of `other`, padding included;
    -1 writes nothing, and block 0, the null block, is nobody's. Request r has the rows `query_start_loc[r]` ..
    `query_start_loc[r + 1]`.
    """
    layer = first_divergence(reference, other)
    if layer is None:
        pairs = zip(reference, other, strict=True)
        same = all(torch.equal(a.double(), b[: len(a)].double()) for a, b in pairs)
        return "same" if same else "rounding"
    rows = diverging_rows(reference[layer], other[layer])
    now, then = other[layer], before[layer]
    if all(row < len(then) and torch.equal(now[row], then[row]) for row in rows):
        return "stale buffer"
    padding = slot_mapping[query_start_loc[-1] :]
    written = {slot // block_size for slot in padding if slot >= 0} - {0}
    hit = {request for request, table in enumerate(block_tables) if written.intersection(table)}
    owners = {bisect_right(query_start_loc, row) - 1 for row in rows}
    return "padding in a live block" if owners <= hit else "unknown"
