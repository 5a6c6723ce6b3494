# verdict: wrong answer
# diagnosis: a weight is inside a piece, or made by one; it is given: an input of each piece that reads it, so that layers can share their code
_right = split_at


def split_at(graph_module, op):
    weights = {node.name: node.target for node in graph_module.graph.nodes if node.op == "get_attr"}
    pieces = []
    for piece in _right(graph_module, op):
        graph, new = Graph(), {}
        for name, node in zip(piece.inputs, piece.module.graph.nodes):
            new[node] = graph.get_attr(weights[name]) if name in weights else graph.placeholder(name)
            new[node].meta = dict(node.meta)
        for node in list(piece.module.graph.nodes)[len(piece.inputs):]:
            if node.op != "output":
                args, kwargs = map_arg((node.args, node.kwargs), new.__getitem__)
                new[node] = graph.create_node(node.op, node.target, args, kwargs)
                new[node].meta = dict(node.meta)
        graph.output(tuple(new[node] for node in piece.module.graph.output_node().args[0]))
        module = GraphModule(graph_module, graph)
        inputs = tuple(name for name in piece.inputs if name not in weights)
        pieces.append(replace(piece, module=module, run=module, inputs=inputs))
    return pieces
