# verdict: wrong answer
# diagnosis: a call whose result nobody reads is missing from its piece; it may change memory in place, so all calls are kept
_right = split_at


def split_at(graph_module, op):
    pieces = _right(graph_module, op)
    for piece in pieces:
        for node in reversed(list(piece.module.graph.nodes)):
            if node.op.startswith("call_") and not node.users:
                piece.module.graph.erase_node(node)
        piece.module.recompile()
    return pieces
