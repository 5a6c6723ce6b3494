# verdict: wrong answer
# diagnosis: rows were taken for requests; request i has the rows query_start_loc[i] to query_start_loc[i + 1] − 1
def name_cause(reference, other, before, slot_mapping, query_start_loc, block_tables, block_size):
    layer = first_divergence(reference, other)
    if layer is None:
        same = all(torch.equal(a, b[: len(a)]) for a, b in zip(reference, other))
        return "same" if same else "rounding"
    rows = diverging_rows(reference[layer], other[layer])
    now, then = other[layer], before[layer]
    if all(torch.equal(now[row], then[row]) for row in rows):
        return "stale buffer"
    blocks = {slot // block_size for slot in slot_mapping[query_start_loc[-1] :] if slot >= 0} - {0}
    hit = {r for r, table in enumerate(block_tables) if blocks & set(table)}
    owners = set(rows)
    return "padding in a live block" if owners <= hit else "unknown"
