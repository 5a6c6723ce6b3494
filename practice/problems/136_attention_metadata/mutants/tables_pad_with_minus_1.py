# verdict: wrong answer
# diagnosis: the tables are padded with -1, which is no block; kernels read the number before they look at the length
_right = write_tables


def write_tables(table, block_tables, size):
    _right(table, block_tables, size)
    for r in range(size):
        table[r, len(block_tables[r]) if r < len(block_tables) else 0 :] = -1
