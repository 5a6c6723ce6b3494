# verdict: wrong answer
# diagnosis: something was added to `meta` of the step's own nodes; keep notes of your own in a dict
_right = split_at


def split_at(graph_module, op):
    pieces = _right(graph_module, op)
    for node in graph_module.graph.nodes:
        node.meta["piece"] = 0
    return pieces
