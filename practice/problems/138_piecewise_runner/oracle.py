"""The same without pieces, graphs, blocks or padding. Lives in the judge's process only."""

from __future__ import annotations

import torch


def run_pieces(described, factors, values):
    """(names left, all values ever made) of pieces that are written down."""
    left = dict(values)
    every = dict(values)
    for text, factor in zip(described, factors, strict=True):
        if text.get("counts"):
            every[text["inputs"][0]] = every[text["inputs"][0]] + 1
            every[text["outputs"][0]] = every[text["inputs"][0]] * factor
        else:
            terms = torch.broadcast_tensors(*((i + 1) * every[name] for i, name in enumerate(text["inputs"])))
            total = torch.stack(terms).sum(0)
            for j, name in enumerate(text["outputs"]):
                every[name] = total * factor + j
        left.update(dict.fromkeys(text["outputs"]))
        left = {name: None for name in left if name not in text["last_uses"]}
    return sorted(left), every


class Model:
    """The tiny model: each request's keys and values in lists, attention one row at a time."""

    def __init__(self, numbers, layers, hidden=8, width=4, vocabulary=5):
        self.layers, self.heads, self.weights = layers, hidden // width, {}
        for name, rows, columns in self.shapes(layers, hidden, width, vocabulary):
            self.weights[name] = numbers[: rows * columns].reshape(rows, columns)
            numbers = numbers[rows * columns :]
        self.keys: dict = {}  # (request, layer) -> keys and values, one for each position

    @staticmethod
    def shapes(layers, hidden=8, width=4, vocabulary=5):
        yield from (("embed", 9, hidden), ("places", 16, hidden), ("head", hidden, vocabulary))
        for i in range(layers):
            yield from ((f"q{i}", hidden, hidden), (f"k{i}", hidden, width))
            yield from ((f"v{i}", hidden, width), (f"o{i}", hidden, hidden))

    def computed(self, request):
        """Positions of the request that are in the cache."""
        return len(self.keys.get((request, 0), []))

    def run(self, items, gain, scale, extra=0.0):
        """Logits of (request, token ids, whether logits are wanted), and everything is remembered."""
        w, rows = self.weights, []
        for request, tokens, wanted in items:
            for place, token in enumerate(tokens, start=self.computed(request)):
                x = (w["embed"][token] + w["places"][place]) * gain
                for layer in range(self.layers):
                    seen = self.keys.setdefault((request, layer), [])
                    seen.append((x @ w[f"k{layer}"], x @ w[f"v{layer}"]))
                    x = (x + self.attend(x @ w[f"q{layer}"], seen) * scale @ w[f"o{layer}"]) * gain
                row = x + extra
            if wanted:
                rows.append(row @ w["head"])
        return torch.stack(rows) if rows else torch.zeros(0, w["head"].shape[1])

    def attend(self, q, seen):
        k, v = (torch.stack([pair[i] for pair in seen]) for i in (0, 1))
        heads = []
        for head in q.view(self.heads, -1):
            scores = (k @ head) / len(head) ** 0.5
            heads.append(scores.softmax(0) @ v)
        return torch.cat(heads)
