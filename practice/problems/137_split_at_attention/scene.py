"""What problem 137's tests hand to `split_at`: steps written as lines of code, and what becomes of their pieces."""

from __future__ import annotations

import ast

import torch
from torch.fx import Graph, GraphModule


def attention(q, k):
    """Stands for the operator that a step is split at."""
    return q.flip(0) * 2 + k


FUNCTIONS = {"attention": attention} | {name: getattr(torch, name) for name in ("add", "mul", "cat", "relu", "where")}


class MissingValue(Exception):
    """A piece reads what is not there."""


class NotATuple(Exception):
    """What a piece returns."""


class NamesInAList(Exception):
    """What a piece holds in a field that is a tuple of names."""


class AnotherLength(Exception):
    """A piece returns more values than it names, or fewer."""


def traced_step(solution, lines, inputs, returns, weights=None):
    """The step as a GraphModule: a node for each line, such as `c = add(a, b)`, and one for each weight."""
    graph, weights = Graph(), weights or {}
    nodes = {name: graph.placeholder(name) for name in inputs} | {name: graph.get_attr(name) for name in weights}

    def value(tree):
        if isinstance(tree, ast.Name):
            return nodes[tree.id]
        if isinstance(tree, ast.List):
            return [value(part) for part in tree.elts]
        return ast.literal_eval(tree)

    for line in lines:
        (assignment,) = ast.parse(line).body
        call, name = assignment.value, assignment.targets[0].id
        args = [value(part) for part in call.args]
        kwargs = {keyword.arg: value(keyword.value) for keyword in call.keywords}
        if isinstance(call.func, ast.Attribute):
            kind, target, args = "call_method", call.func.attr, [value(call.func.value), *args]
        else:
            kind, target = "call_function", FUNCTIONS[call.func.id]
        nodes[name] = graph.create_node(kind, target, tuple(args), kwargs, name=name)
    for name, node in nodes.items():
        node.meta["val"] = f"the shape of {name}"
    graph.output(nodes[returns[0]] if len(returns) == 1 else tuple(nodes[name] for name in returns))
    return GraphModule(weights, graph)


def split(solution, step):
    pieces = solution.split_at(step, attention)
    if not isinstance(pieces, (list, tuple)):
        raise TypeError(f"split_at returned {type(pieces).__name__}: a list of Piece was expected")
    for i, piece in enumerate(pieces):
        for name in ("module", "run", "inputs", "outputs", "splits", "last_uses"):
            if not hasattr(piece, name):
                raise TypeError(f"piece {i} is of type {type(piece).__name__} and has no `{name}`")
        for name in ("inputs", "outputs", "last_uses"):
            if not isinstance(names := getattr(piece, name), tuple):
                raise NamesInAList(f"`{name}` of piece {i} is {names!r:.80}: a tuple of names was expected")
    return pieces


def name_of(node):
    return node.target if isinstance(node.target, str) else node.target.__name__


def of_each_piece(solution, step, what):
    """The operators that each piece calls, or a field of each piece; names sorted."""
    pieces = split(solution, step)
    if what == "calls":
        return [[name_of(n) for n in piece.module.graph.nodes if n.op.startswith("call_")] for piece in pieces]
    found = [getattr(piece, what) for piece in pieces]
    return found if what == "splits" else [sorted(names) for names in found]


def run_in_pieces(solution, step, values):
    """What the step returns when its pieces run one after another, each on what those before it handed on."""
    pieces = split(solution, step)
    weights = {node.name: getattr(step, node.target) for node in step.graph.find_nodes(op="get_attr")}
    values = weights | values
    for i, piece in enumerate(pieces):
        for name in piece.inputs:
            if name not in values:
                raise MissingValue(f"piece {i} reads {name}: no piece before it has handed that on, or it was let go")
        results = piece.run(*(values[name] for name in piece.inputs))
        if not isinstance(results, tuple):
            raise NotATuple(f"piece {i} was run, and gave {results!r:.80}")
        if len(results) != len(piece.outputs):
            raise AnotherLength(f"piece {i} has the outputs {list(piece.outputs)}, and its run gave {results!r:.80}")
        values.update(zip(piece.outputs, results, strict=True))
        for name in piece.last_uses:
            del values[name]
    return [values[node.name] for node in step.graph.output_node().all_input_nodes]


def run_whole(solution, step, values):
    """What the step itself returns, split or not."""
    results = step(*(values[node.name] for node in step.graph.find_nodes(op="placeholder")))
    return list(results) if isinstance(results, tuple) else [results]


def same_code(solution, step):
    """For each piece the number of the first piece with the same code."""
    codes = [piece.module.code for piece in split(solution, step)]
    return [codes.index(code) for code in codes]


def meta_of(solution, step):
    """What `meta["val"]` holds in each piece, sorted: of its placeholders, then of its calls."""
    found = []
    for piece in split(solution, step):
        nodes = [node for node in piece.module.graph.nodes if node.op != "output"]
        sides = [[n for n in nodes if (n.op == "placeholder") is given] for given in (True, False)]
        found.append([sorted(str(node.meta.get("val")) for node in side) for side in sides])
    return found


def meta_of_the_step(solution, step):
    """`meta` of the step's own nodes, after it was split and something was added to that of the pieces."""
    for piece in split(solution, step):
        for node in piece.module.graph.nodes:
            node.meta["added"] = "to a piece"
    return {node.name: dict(node.meta) for node in step.graph.nodes if node.op != "output"}
