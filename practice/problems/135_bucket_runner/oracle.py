"""What the scene's steps compute, from lists and one request at a time. Lives in the judge's process only."""

from __future__ import annotations

import torch

BLOCK = 4


def slot(table, position):
    return table[position // BLOCK] * BLOCK + position % BLOCK


def padded(count, sizes):
    """The size of the graph for `count` requests; `count` itself when there is none."""
    return min((size for size in sizes if size >= count), default=count)


def read(items, factor, rows):
    """What the reading step gives for these requests in a step of so many rows."""
    answer = []
    for tokens, computed, table, _ in items:
        last = computed + len(tokens) - 1
        blocks = sum(place * block for place, block in enumerate(table, 1))
        answer.append([factor * n for n in (tokens[-1], last, slot(table, last), last + 1, blocks, rows)])
    return torch.tensor(answer)


class Attention:
    """The attending step over a cache of its own; `k` and `v` are [blocks, BLOCK, heads, size]."""

    def __init__(self, tokens, places, k, v):
        self.tokens, self.places = tokens.double(), places.double()
        self.k, self.v = k.double(), v.double()

    def run(self, items, factor):
        """The rows of the last token of each request."""
        answer = []
        for tokens, computed, table, _ in items:
            for position, token in enumerate(tokens, computed):
                q, k, v = (self.tokens[token] + self.places[position]).view(3, *self.k.shape[2:])
                place = table[position // BLOCK], position % BLOCK
                self.k[place], self.v[place] = k, v
                seen = range(position + 1)
                where = [table[p // BLOCK] for p in seen], [p % BLOCK for p in seen]
                keys, values = self.k[where], self.v[where]
                scores = (keys * q).sum(-1) * q.shape[-1] ** -0.5  # [positions, heads]
                out = (scores.softmax(0)[..., None] * values).sum(0)
            answer.append(out.flatten() * factor)
        return torch.stack(answer).float()

    def blocks(self):
        """Keys and values of every block but the null block."""
        return torch.stack([self.k[1:], self.v[1:]]).float()
