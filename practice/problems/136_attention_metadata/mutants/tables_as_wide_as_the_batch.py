# verdict: wrong answer
# diagnosis: only as many columns were written as the longest request of this batch has: behind them stands an older table
def write_tables(table, block_tables, size):
    widest, width = max(map(len, block_tables), default=0), table.shape[1]
    if len(block_tables) > size or widest > width:
        raise ValueError(f"{len(block_tables)} requests of {widest} blocks do not fit into {size} rows of {width}")
    table[:size, :widest] = 0
    for row, blocks in zip(table, block_tables, strict=False):
        row[: len(blocks)] = blocks
