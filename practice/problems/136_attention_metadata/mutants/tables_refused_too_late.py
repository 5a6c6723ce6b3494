# verdict: wrong answer
# diagnosis: a table was refused after rows had been written: check all requests before the first write
def write_tables(table, block_tables, size):
    table[:size] = 0
    if len(block_tables) > size:
        raise ValueError(f"the block tables of {len(block_tables)} requests do not fit into {size} rows")
    for row, blocks in zip(table, block_tables, strict=False):
        if len(blocks) > len(row):
            raise ValueError(f"a request has {len(blocks)} blocks, and the buffers hold {len(row)} of each")
        row[: len(blocks)] = blocks
