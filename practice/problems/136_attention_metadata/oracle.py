"""The padded metadata built anew as lists, and attention one token at a time. Lives in the judge's process only."""

from __future__ import annotations

import torch

BLOCK = 4


def rows(values, size, padding):
    return [values[i] if i < len(values) else padding for i in range(size)]


def tables(block_tables, size, width):
    return [rows(block_tables[r] if r < len(block_tables) else [], width, 0) for r in range(size)]


def slots(items):
    places = ((table, p) for tokens, computed, table, _ in items for p in range(computed, computed + len(tokens)))
    return [table[p // BLOCK] * BLOCK + p % BLOCK for table, p in places]


def metadata(items, num_tokens, num_reqs, width):
    ends = [sum(len(tokens) for tokens, *_ in items[:r]) for r in range(len(items) + 1)]
    return {
        "slot_mapping": rows(slots(items), num_tokens, -1),
        "seq_lens": rows([computed + len(tokens) for tokens, computed, *_ in items], num_reqs, 0),
        "query_start_loc": rows(ends, num_reqs + 1, ends[-1]),
        "block_table": tables([table for _, _, table, _ in items], num_reqs, width),
    }


class Attention:
    """The attending graph over a cache of its own; `k` and `v` are [blocks, BLOCK, heads, size]."""

    def __init__(self, embedding, places, k, v):
        self.embedding, self.places = embedding.double(), places.double()
        self.k, self.v = k.double(), v.double()

    def run(self, items):
        """A row for every token."""
        answer = []
        for tokens, computed, table, _ in items:
            for position, token in enumerate(tokens, computed):
                q, k, v = (self.embedding[token] + self.places[position]).view(3, *self.k.shape[2:])
                place = table[position // BLOCK], position % BLOCK
                self.k[place], self.v[place] = k, v
                seen = range(position + 1)
                where = [table[p // BLOCK] for p in seen], [p % BLOCK for p in seen]
                scores = (self.k[where] * q).sum(-1) * q.shape[-1] ** -0.5  # [positions, heads]
                answer.append((scores.softmax(0)[..., None] * self.v[where]).sum(0).flatten())
        return torch.stack(answer).float()

    def blocks(self):
        """Keys and values of every block but the null block."""
        return torch.stack([self.k[1:], self.v[1:]]).float()
