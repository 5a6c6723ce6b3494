# verdict: wrong answer
# diagnosis: a block table that is too wide was cut off in silence: attention would read other keys than it should
_right = write_tables


def write_tables(table, block_tables, size):
    _right(table, [blocks[: table.shape[1]] for blocks in block_tables], size)
