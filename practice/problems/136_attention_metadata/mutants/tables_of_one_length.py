# verdict: error|wrong answer
# diagnosis: requests have different numbers of blocks, so their tables are no rectangle
def write_tables(table, block_tables, size):
    blocks = np.array(block_tables)
    if len(blocks) > size or blocks.shape[1] > table.shape[1]:
        raise ValueError(f"{blocks.shape} blocks do not fit into {size} rows of {table.shape[1]}")
    table[:size] = 0
    table[: len(blocks), : blocks.shape[1]] = blocks
