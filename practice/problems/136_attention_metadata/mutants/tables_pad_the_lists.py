# verdict: wrong answer
# diagnosis: the lists of blocks themselves were padded: they belong to the requests, and are only read; pad in the table
_right = write_tables


def write_tables(table, block_tables, size):
    _right(table, block_tables, size)
    for blocks in block_tables:
        blocks.extend([0] * (table.shape[1] - len(blocks)))
