# verdict: wrong answer
# diagnosis: every second piece is marked as a split; whether a piece is a call of op has to be read from its call, since the first piece may be one, and two may follow each other
_right = split_at


def split_at(graph_module, op):
    return [replace(piece, splits=i % 2 == 1) for i, piece in enumerate(_right(graph_module, op))]
