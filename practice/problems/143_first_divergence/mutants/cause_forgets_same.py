# verdict: wrong answer
# diagnosis: engines that agree to the bit in all rows before T were not called 'same'; rows of padding do not count
def name_cause(reference, other, before, slot_mapping, query_start_loc, block_tables, block_size):
    layer = first_divergence(reference, other)
    if layer is None:
        same = all(torch.equal(a, b[: len(a)]) for a, b in zip(reference, other))
        return "rounding"
    rows = diverging_rows(reference[layer], other[layer])
    now, then = other[layer], before[layer]
    if all(torch.equal(now[row], then[row]) for row in rows):
        return "stale buffer"
    blocks = {slot // block_size for slot in slot_mapping[query_start_loc[-1] :] if slot >= 0} - {0}
    hit = {r for r, table in enumerate(block_tables) if blocks & set(table)}
    owners = {max(r for r in range(len(block_tables)) if query_start_loc[r] <= row) for row in rows}
    return "padding in a live block" if owners <= hit else "unknown"
