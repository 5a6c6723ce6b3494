# verdict: wrong answer
# diagnosis: requests above the size were left out in silence; they have to be refused
_right = write_tables


def write_tables(table, block_tables, size):
    _right(table, block_tables[:size], size)
