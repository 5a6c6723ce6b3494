"""Row by row, in loops."""

import torch


def diverging_rows(reference, other):
    eps = torch.finfo(reference.dtype).eps
    if torch.finfo(other.dtype).eps > eps:
        eps = torch.finfo(other.dtype).eps
    rows = []
    for number in range(reference.shape[0]):
        right, row = reference[number].to(torch.float64), other[number].to(torch.float64)
        limit = 16 * eps * float(right.abs().max())
        gap = float((right - row).abs().max())
        if not gap <= limit:
            rows.append(number)
    return rows


def first_divergence(reference, other):
    for number in range(len(reference)):
        if len(diverging_rows(reference[number], other[number])) > 0:
            return number
    return None


def name_cause(reference, other, before, slot_mapping, query_start_loc, block_tables, block_size):
    number = first_divergence(reference, other)
    if number is None:
        for right, mine in zip(reference, other, strict=True):
            if (right.to(torch.float64) != mine[: len(right)].to(torch.float64)).any():
                return "rounding"
        return "same"
    rows = diverging_rows(reference[number], other[number])
    now, then = other[number].tolist(), before[number].tolist()
    stale = [row for row in rows if row < len(then) and now[row] == then[row]]
    if stale == rows:
        return "stale buffer"
    owner = {}
    for request, table in enumerate(block_tables):
        for block in table:
            owner.setdefault(block, set()).add(request)
    owner.pop(0, None)
    hit = set()
    for slot in slot_mapping[query_start_loc[-1] :]:
        if slot != -1:
            hit |= owner.get(slot // block_size, set())
    explained = []
    for request in hit:
        explained += range(query_start_loc[request], query_start_loc[request + 1])
    return "padding in a live block" if set(rows) <= set(explained) else "unknown"
