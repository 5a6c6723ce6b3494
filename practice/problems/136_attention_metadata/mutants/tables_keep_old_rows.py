# verdict: wrong answer
# diagnosis: rows without a request still hold the blocks of an earlier batch: those may belong to somebody now
def write_tables(table, block_tables, size):
    widest, width = max(map(len, block_tables), default=0), table.shape[1]
    if len(block_tables) > size or widest > width:
        raise ValueError(f"{len(block_tables)} requests of {widest} blocks do not fit into {size} rows of {width}")
    for row, blocks in zip(table, block_tables, strict=False):
        row[:] = 0
        row[: len(blocks)] = blocks
