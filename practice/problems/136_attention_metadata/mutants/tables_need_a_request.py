# verdict: error
# diagnosis: max of no requests is an error: with default=0 a table without requests is all null blocks
_right = write_tables


def write_tables(table, block_tables, size):
    max(map(len, block_tables))
    _right(table, block_tables, size)
