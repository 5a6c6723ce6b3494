# verdict: error
# diagnosis: blocks were compared with the number of rows; the width of the table is table.shape[1]
def write_tables(table, block_tables, size):
    widest, width = max(map(len, block_tables), default=0), len(table)
    if len(block_tables) > size or widest > width:
        raise ValueError(f"{len(block_tables)} requests of {widest} blocks do not fit into {size} rows of {width}")
    table[:size] = 0
    for row, blocks in zip(table, block_tables, strict=False):
        row[: len(blocks)] = blocks
