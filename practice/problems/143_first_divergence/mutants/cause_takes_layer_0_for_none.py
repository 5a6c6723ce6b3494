# verdict: wrong answer
# diagnosis: a fault in layer 0 was taken for none: `if not layer` holds for 0 too, so ask `layer is None`
def name_cause(reference, other, before, slot_mapping, query_start_loc, block_tables, block_size):
    layer = first_divergence(reference, other)
    if not layer:
        same = all(torch.equal(a, b[: len(a)]) for a, b in zip(reference, other))
        return "same" if same else "rounding"
    rows = diverging_rows(reference[layer], other[layer])
    now, then = other[layer], before[layer]
    if all(torch.equal(now[row], then[row]) for row in rows):
        return "stale buffer"
    blocks = {slot // block_size for slot in slot_mapping[query_start_loc[-1] :] if slot >= 0} - {0}
    hit = {r for r, table in enumerate(block_tables) if blocks & set(table)}
    owners = {max(r for r in range(len(block_tables)) if query_start_loc[r] <= row) for row in rows}
    return "padding in a live block" if owners <= hit else "unknown"
