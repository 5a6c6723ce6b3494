# verdict: wrong answer
# diagnosis: the step itself was changed; the pieces are new graphs, and the whole stays as it was
_right = split_at


def split_at(graph_module, op):
    pieces = _right(graph_module, op)
    output = graph_module.graph.output_node()
    for node in list(graph_module.graph.nodes):
        if node.target == op and node.all_input_nodes:
            node.replace_all_uses_with(node.all_input_nodes[0])
    graph_module.recompile()
    return pieces
