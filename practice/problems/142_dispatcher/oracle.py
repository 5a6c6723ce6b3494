"""Graphs as rows of a table, looked through one by one. Lives in the judge's process only."""

from __future__ import annotations

PAIRS = {
    "NONE": ("NONE", "NONE"),
    "PIECEWISE": ("PIECEWISE", "PIECEWISE"),
    "FULL": ("FULL", "FULL"),
    "FULL_DECODE_ONLY": ("FULL", "NONE"),
    "FULL_AND_PIECEWISE": ("FULL", "PIECEWISE"),
}


def relaxed(num_tokens, num_reqs, uniform, has_lora):
    return {"num_tokens": num_tokens, "num_reqs": None, "uniform": False, "has_lora": has_lora}


def same_graph(one, other):
    return one[0] == other[0] and one[3] == other[3]


def graphs(mode, sizes, max_num_seqs, query_len=1):
    """(mode, num_tokens, num_reqs, uniform) of each graph, ascending."""
    decode, mixed = PAIRS[mode]
    rows = [(mixed, size, None, False) for size in sorted(set(sizes)) if mixed != "NONE"]
    if decode != mixed:
        rows += [
            (decode, requests * query_len, requests, True)
            for requests in range(1, max_num_seqs + 1)
            if requests * query_len in sizes
        ]
    return rows


def attributes(mode, sizes, max_num_seqs, query_len=1):
    return {"mode": mode, "sizes": [n for n in range(max(sizes) + 1) if n in sizes], "query_len": query_len}


def keys(mode, sizes, max_num_seqs, query_len=1):
    rows = graphs(mode, sizes, max_num_seqs, query_len)
    return {name: [row[1:] for row in rows if row[0] == name] for name in ("PIECEWISE", "FULL")}


def capture_order(mode, sizes, max_num_seqs, query_len=1, lost=(), with_lora=()):
    rows = [row for row in graphs(mode, sizes, max_num_seqs, query_len)[::-1] if row[:2] not in lost]
    found = []
    for row in (row for name in ("PIECEWISE", "FULL") for row in rows if row[0] == name):
        found += [(*row, adapters) for adapters in (False, True) if not adapters or row[:2] in with_lora]
    return found


def refused(num_tokens, **_):
    return num_tokens < 1


def dispatch(
    num_tokens,
    uniform=False,
    has_lora=False,
    *,
    mode,
    sizes,
    max_num_seqs,
    query_len=1,
    lost=(),
    also_full=(),
    with_lora=(),
):
    decode = min((q * query_len for q in range(1, max_num_seqs + 1) if num_tokens <= q * query_len in sizes), default=0)
    size = min((s for s in sizes if s >= num_tokens), default=0)
    wanted = [("FULL", decode, True)] * uniform + [("FULL", size, False), ("PIECEWISE", size, False)]
    there = graphs(mode, sizes, max_num_seqs, query_len) + [("FULL", size, None, False) for size in also_full]
    for name, tokens, is_uniform in wanted:
        for row in there:
            if (row[0], row[1], row[3]) != (name, tokens, is_uniform) or (name, tokens) in lost:
                continue
            if has_lora and (name, tokens) not in with_lora:
                continue
            return _answer(name, tokens, row[2], is_uniform, has_lora)
    return _answer("NONE", num_tokens, None, False, has_lora)


def _answer(mode, num_tokens, num_reqs, uniform, has_lora):
    return {"mode": mode, "num_tokens": num_tokens, "num_reqs": num_reqs, "uniform": uniform, "has_lora": has_lora}
