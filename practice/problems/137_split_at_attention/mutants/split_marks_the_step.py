# verdict: wrong answer
# diagnosis: something was added to `meta` of the step's own nodes; keep notes of your own in a dict
_right = split_at


def split_at(graph_module, op):
    pieces = _right(graph_module, op)
    run = [node for node in graph_module.graph.nodes if node.op.startswith("call_")]
    calls = [(node.name, node.target, [read.name for read in node.all_input_nodes]) for node in run]
    for node, number in zip(run, piece_numbers(calls, op)):
        node.meta["piece"] = number
    return pieces
