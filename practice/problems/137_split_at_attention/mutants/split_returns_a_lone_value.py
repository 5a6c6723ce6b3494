# verdict: error|wrong answer
# diagnosis: a piece returns something other than a tuple, such as the bare value where there is only one; it returns a tuple, of one value too
def split_at(graph_module, op):
    nodes = {node.name: node for node in graph_module.graph.nodes}
    run = [node for node in nodes.values() if node.op.startswith("call_")]
    calls = [(node.name, node.target, [read.name for read in node.all_input_nodes]) for node in run]
    numbers, results = piece_numbers(calls, op), _results(graph_module)
    crossing = crossing_values(calls, numbers, results)
    pieces = []
    for number, ((inputs, outputs), free) in enumerate(zip(crossing, last_uses(crossing, results))):
        inside = [node for node, at in zip(run, numbers) if at == number]
        graph, new = Graph(), {}
        for i, name in enumerate(inputs):
            new[nodes[name]] = graph.placeholder(f"arg{i}")
        for node in inside:
            args, kwargs = map_arg((node.args, node.kwargs), new.__getitem__)
            new[node] = graph.create_node(node.op, node.target, args, kwargs)
        for node, copy in new.items():
            copy.meta = dict(node.meta)
        graph.output(tuple(new[nodes[name]] for name in outputs) if len(outputs) > 1 else new[nodes[outputs[0]]])
        module = GraphModule(graph_module, graph)
        splits = inside[0].target == op
        pieces.append(Piece(module, module, tuple(inputs), tuple(outputs), splits, tuple(free)))
    return pieces
