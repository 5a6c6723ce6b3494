# verdict: wrong answer
# diagnosis: a weight is inside a piece, or made by one; it is given: an input of each piece that reads it, so that layers can share their code
def split_at(graph_module, op):
    nodes = {node.name: node for node in graph_module.graph.nodes if node.op not in ("placeholder", "output")}
    places = {node.name: node for node in graph_module.graph.nodes}
    calls = [(name, node.target, [each.name for each in node.all_input_nodes]) for name, node in nodes.items()]
    results = [node.name for node in graph_module.graph.output_node().all_input_nodes]
    numbers = piece_numbers(calls, op)
    crossing = crossing_values(calls, numbers, results)
    pieces = []
    for number, ((inputs, outputs), last) in enumerate(zip(crossing, last_uses(crossing, results))):
        own = [node for node, home in zip(nodes.values(), numbers) if home == number]
        graph = Graph()
        new = {places[name]: graph.placeholder(f"arg{i}") for i, name in enumerate(inputs)}
        for node in own:
            args, kwargs = map_arg((node.args, node.kwargs), new.__getitem__)
            new[node] = graph.create_node(node.op, node.target, args, kwargs)
        graph.output(tuple(new[places[name]] for name in outputs))
        for old, node in new.items():
            node.meta = dict(old.meta)
        module = GraphModule(graph_module, graph)
        splits = own[0].target == op
        pieces.append(Piece(module, module, tuple(inputs), tuple(outputs), splits, tuple(last)))
    return pieces
