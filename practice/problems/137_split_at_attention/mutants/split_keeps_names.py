# verdict: wrong answer
# diagnosis: the nodes of a piece keep the names that they had in the step, so that pieces that do the same have different code
_right = split_at


def split_at(graph_module, op):
    pieces = []
    for piece in _right(graph_module, op):
        graph, new = Graph(), {}
        for name, node in zip(piece.inputs, piece.module.graph.nodes):
            new[node] = graph.placeholder(name)
            new[node].meta = dict(node.meta)
        for node in list(piece.module.graph.nodes)[len(piece.inputs):]:
            if node.op != "output":
                new[node] = graph.node_copy(node, new.__getitem__)
                new[node].meta = dict(node.meta)
        graph.output(tuple(new[node] for node in piece.module.graph.output_node().args[0]))
        module = GraphModule(piece.module, graph)
        pieces.append(replace(piece, module=module, run=module))
    return pieces
