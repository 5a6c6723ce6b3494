"""The simplest KV cache: it grows by concatenation."""

import torch


class KVCache:
    """Keys and values of every position seen so far.

    `.k[layer]` and `.v[layer]` are None until written, then [B, n_kv, S, hd]. Every step copies all of
    them to a new address, which no graph can follow: later chapters give each token a fixed slot instead.
    """

    def __init__(self, num_layers: int):
        self.k = [None] * num_layers
        self.v = [None] * num_layers

    def update(self, layer: int, k, v):
        """Append k and v [B, n_kv, T, hd] to `layer`'s cache; return all of it, the new positions last."""
        if self.k[layer] is not None:
            k = torch.cat((self.k[layer], k), dim=2)
            v = torch.cat((self.v[layer], v), dim=2)
        self.k[layer], self.v[layer] = k, v
        return k, v

    @property
    def length(self) -> int:
        """Positions held. Any written layer tells: half a model writes only its own layers."""
        return next((k.shape[2] for k in self.k if k is not None), 0)
