"""Accepted too: each function by its own means, split_at by the users of a node and without the other three."""

import torch.fx

from mini_llm.piecewise import Piece


def piece_numbers(calls, op):
    stretches = [[]]
    for call in calls:
        if call[1] == op:
            stretches += [[call], []]
        else:
            stretches[-1].append(call)
    stretches = [stretch for stretch in stretches if stretch]
    return [number for number, stretch in enumerate(stretches) for _ in stretch]


def crossing_values(calls, numbers, results):
    made, read = [[] for _ in set(numbers)], [[] for _ in set(numbers)]
    for (name, _, reads), number in zip(calls, numbers, strict=True):
        made[number].append(name)
        read[number].extend(reads)
    pieces = []
    for number, names in enumerate(made):
        inputs = sorted(set(read[number]) - set(names), key=read[number].index)
        others = set(results).union(*(each for i, each in enumerate(read) if i != number))
        pieces.append((inputs, [name for name in names if name in others]))
    return pieces


def last_uses(crossing, results):
    last = {}
    for number, (inputs, _) in enumerate(crossing):
        last.update(dict.fromkeys(inputs, number))
    made = {name for _, outputs in crossing for name in outputs}
    return [
        [name for name in inputs if last[name] == number and name in made and name not in results]
        for number, (inputs, _) in enumerate(crossing)
    ]


def split_at(graph_module, op):
    groups, output = [], None
    for node in graph_module.graph.nodes:
        if node.op == "output":
            output = node
        elif node.op not in ("placeholder", "get_attr"):
            alone = node.target == op
            if alone or not groups or groups[-1][0]:
                groups.append((alone, []))
            groups[-1][1].append(node)

    made, pieces = set(), []
    for splits, nodes in groups:
        graph, twins, inputs = torch.fx.Graph(), {}, []

        for read in (read for node in nodes for read in node.all_input_nodes):
            if read not in nodes and read not in twins:
                twins[read] = graph.placeholder(f"arg{len(inputs)}")
                twins[read].meta = dict(read.meta)
                inputs.append(read)
        for node in nodes:
            copy = graph.create_node(
                node.op,
                node.target,
                torch.fx.map_arg(node.args, twins.__getitem__),
                torch.fx.map_arg(node.kwargs, twins.__getitem__),
            )
            copy.meta = dict(node.meta)
            twins[node] = copy
        outputs = [n for n in nodes if any(user not in nodes for user in n.users)]
        graph.output(tuple(twins[n] for n in outputs))
        module = torch.fx.GraphModule(graph_module, graph)
        made.update(outputs)
        pieces.append((module, inputs, outputs, splits))

    answer, needed = [], set(output.all_input_nodes)
    for module, inputs, outputs, splits in reversed(pieces):
        free = [n for n in inputs if n in made and n not in needed]
        needed.update(inputs)
        names = [tuple(n.name for n in nodes) for nodes in (inputs, outputs, free)]
        answer.insert(0, Piece(module, module, names[0], names[1], splits, names[2]))
    return answer
