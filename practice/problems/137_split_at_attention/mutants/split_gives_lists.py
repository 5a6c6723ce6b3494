# verdict: error|wrong answer
# diagnosis: the names of a piece are lists; Piece has tuples, which nobody can change later
_right = split_at


def split_at(graph_module, op):
    return [Piece(p.module, p.run, list(p.inputs), list(p.outputs), p.splits, p.last_uses)
            for p in _right(graph_module, op)]
