"""Stubs: a module with the functions that are to be written taken out, and nothing of them left behind.

The workspace gets stubs to grow, and the judge's worker sees the reference with the functions under test
stubbed. Formatting and comments outside the stubbed functions stay as they are. Standard library only.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Collection, Mapping

from grader.pieces import DEFINITIONS, FUNCTIONS, Piece, cut, first_line, is_string, split, used


def stub_module(source: str, names: Mapping[str, int]) -> str:
    """`source` with each function or class of `names` (name -> chapter) turned into a stub.

    Signature and docstring stay; the body raises NotImplementedError. Private helpers and constants that
    only these bodies use are dropped. Raises ValueError for a name the module does not define.
    """
    pieces = split(source)
    defined = {p.nodes[0].name: p for p in pieces if isinstance(p.nodes[0], DEFINITIONS)}
    for name in names:
        if name not in defined:
            raise ValueError(f"the module defines no function or class {name!r} to make a stub of.")
    dropped = _private_to(pieces, names)
    targets = [defined[name] for name in names]
    for piece in sorted([*targets, *dropped], key=lambda p: p.start, reverse=True):
        if piece in dropped:
            source = cut(source, [piece])
        else:
            node = piece.nodes[0]
            stub = stub_of(source, node, f"grown in chapter {names[node.name]}: {node.name}")
            source = _replace(source, node, stub)
    return source


def drop(source: str, names: Collection[str]) -> str:
    """`source` without the top-level statements that bind one of `names`."""
    return cut(source, [p for p in split(source) if not set(names).isdisjoint(p.names)])


def is_stub(code: str | ast.AST) -> bool:
    """Whether a function does nothing but raise NotImplementedError; a class: all its methods, at least one.

    `code` is a node, or source whose first function or class is meant. Source that does not parse is none.
    """
    if isinstance(code, str):
        try:
            body = ast.parse(code).body
        except SyntaxError:
            return False
        return any(is_stub(node) for node in body if isinstance(node, DEFINITIONS))
    if isinstance(code, ast.ClassDef):
        methods = [node for node in code.body if isinstance(node, FUNCTIONS)]
        return bool(methods) and all(is_stub(m) for m in methods)
    if not isinstance(code, FUNCTIONS):
        return False
    body = code.body[1:] if is_string(code.body[0]) else code.body
    if len(body) != 1 or not isinstance(body[0], ast.Raise):
        return False
    raised = body[0].exc.func if isinstance(body[0].exc, ast.Call) else body[0].exc
    return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"


def stub_of(source: str, node: ast.stmt, message: str) -> str:
    """The stub of one function or class: its head and docstring as written, then `raise`."""
    indent = " " * (node.col_offset + 4)
    head = head_of(source, node)
    if is_string(node.body[0]):
        head += "\n" + indent + ast.get_source_segment(source, node.body[0])
    if isinstance(node, ast.ClassDef):
        inside = [_member(source, member, message) for member in node.body]
        return "\n\n".join([head, *filter(None, inside)])
    return f'{head}\n{indent}raise NotImplementedError("{message}")'


def _member(source: str, member: ast.stmt, message: str) -> str:
    """What a stubbed class keeps of a member: fields with a type, and stubs of the methods others call."""
    if isinstance(member, ast.AnnAssign):
        return " " * member.col_offset + ast.get_source_segment(source, member)
    public = isinstance(member, FUNCTIONS) and (not member.name.startswith("_") or member.name.endswith("__"))
    return stub_of(source, member, message) if public else ""


def head_of(source: str, node: ast.stmt) -> str:
    """Decorators and signature up to the colon, without what follows it on the line."""
    lines = source.split("\n")[first_line(node) - 1 : node.end_lineno]
    keyword, depth = False, 0
    for token in tokenize.generate_tokens(io.StringIO("\n".join(lines) + "\n").readline):
        keyword = keyword or token.string in ("def", "class")
        if token.type != tokenize.OP:
            continue
        depth += (token.string in "([{") - (token.string in ")]}")
        if keyword and depth == 0 and token.string == ":":
            row, column = token.end
            return "\n".join([*lines[: row - 1], lines[row - 1][:column]])
    raise ValueError("no colon ends the signature")  # pragma: no cover  (it parsed, so there is one)


def _replace(source: str, node: ast.stmt, text: str) -> str:
    """`text` in the place of `node`; indented comments below its body belonged to it and go as well."""
    lines = source.split("\n")
    start, end = first_line(node) - 1, node.end_lineno
    below = end
    while below < len(lines) and (not lines[below].strip() or lines[below].lstrip() != lines[below]):
        below += 1
    between = [line for line in lines[end:below] if not line.strip()]
    return "\n".join([*lines[:start], *text.split("\n"), *between, *lines[below:]])


def _private_to(pieces: list[Piece], names: Collection[str]) -> list[Piece]:
    """The private pieces that nothing but the bodies of `names` uses."""

    def private(piece: Piece) -> bool:
        return bool(piece.names) and not piece.is_import and all(
            n.startswith("_") and not n.endswith("__") for n in piece.names
        )  # fmt: skip

    def closure(start: set[str]) -> set[str]:
        seen: set[str] = set()
        while start - seen:
            name = (start - seen).pop()
            seen.add(name)
            for piece in pieces:
                if private(piece) and name in piece.names:
                    start = start | used(piece.nodes)
        return seen

    kept, taken = set(), set()
    for piece in pieces:
        if not set(piece.names).isdisjoint(names):
            kept |= _signature(piece.nodes[0])
            taken |= used(piece.nodes)
        elif not private(piece):
            kept |= used(piece.nodes)
    kept, taken = closure(kept), closure(taken)
    return [p for p in pieces if private(p) and kept.isdisjoint(p.names) and not taken.isdisjoint(p.names)]


def _signature(node: ast.stmt) -> set[str]:
    """What the kept part of a stub uses: decorators, defaults, annotations, bases, typed fields."""
    if isinstance(node, FUNCTIONS):
        return used(filter(None, [*node.decorator_list, node.args, node.returns]))
    own = used([*node.decorator_list, *node.bases, *(k.value for k in node.keywords)])
    for member in node.body:
        own |= used([member]) if isinstance(member, ast.AnnAssign) else set()
        own |= _signature(member) if isinstance(member, FUNCTIONS) else set()
    return own
