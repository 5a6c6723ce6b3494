# verdict: wrong answer
# diagnosis: behind a request's blocks stand blocks of a longer table that was there before
def write_tables(table, block_tables, size):
    widest, width = max(map(len, block_tables), default=0), table.shape[1]
    if len(block_tables) > size or widest > width:
        raise ValueError(f"{len(block_tables)} requests of {widest} blocks do not fit into {size} rows of {width}")
    for row, blocks in zip(table, block_tables, strict=False):
        row[: len(blocks)] = blocks
    table[len(block_tables) : size] = 0
