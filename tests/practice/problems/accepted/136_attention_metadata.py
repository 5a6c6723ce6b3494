"""Problem 136 number by number, without slices: everything is checked first, and then every place is written."""


def write_rows(array, values, size, padding):
    if len(values) > size:
        raise ValueError(f"{len(values)} values came, and there is room for {size}.")
    for i in range(size):
        array[i] = values[i] if i < len(values) else padding


def write_tables(table, block_tables, size):
    if len(block_tables) > size:
        raise ValueError(f"{len(block_tables)} requests came, and there is room for {size}.")
    columns = table.shape[1]
    for blocks in block_tables:
        if len(blocks) > columns:
            raise ValueError(f"A request has {len(blocks)} blocks, and a row holds {columns}.")
    for r in range(size):
        write_rows(table[r], block_tables[r] if r < len(block_tables) else [], columns, 0)


def write_metadata(arrays, batch, num_tokens, num_reqs):
    slots, lengths = batch.slot_mapping.tolist(), list(batch.seq_lens)
    if len(slots) > num_tokens:
        raise ValueError(f"{len(slots)} tokens came, and the graph takes {num_tokens}.")
    write_tables(arrays["block_table"], batch.block_tables, num_reqs)
    ends = batch.query_start_loc + [len(slots)] * (num_reqs - len(lengths))
    for name, numbers in (("slot_mapping", slots + [-1] * (num_tokens - len(slots))), ("query_start_loc", ends)):
        for i, number in enumerate(numbers):
            arrays[name][i] = number
    write_rows(arrays["seq_lens"], lengths, num_reqs, 0)
