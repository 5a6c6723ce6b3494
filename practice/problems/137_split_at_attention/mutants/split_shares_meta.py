# verdict: wrong answer
# diagnosis: a new node was given the very dict of the old one: what is added to one shows in the other; copy it
_right = split_at


def split_at(graph_module, op):
    pieces = _right(graph_module, op)
    nodes = {node.name: node for node in graph_module.graph.nodes}
    calls = [node for node in nodes.values() if node.op.startswith("call_")]
    for piece in pieces:
        names = iter(piece.inputs)
        for node in piece.module.graph.nodes:
            if node.op != "output":
                node.meta = (nodes[next(names)] if node.op == "placeholder" else calls.pop(0)).meta
    return pieces
