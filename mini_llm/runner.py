"""Run a flat batch through the model, eagerly: the plain way, which every faster one must agree with."""

import torch

from mini_llm.attention import AttentionBackend, ReferenceBackend, forward_context
from mini_llm.batch import BatchInput, step_inputs
from mini_llm.paged import PagedKVCache
from mini_llm.step import hidden_states, logits


class ModelRunner:
    """`model` over the paged cache `kv`; attention by the plain reference unless a backend is given."""

    def __init__(self, model, kv: PagedKVCache, backend: AttentionBackend | None = None):
        self.model, self.kv = model, kv
        self.backend = backend or ReferenceBackend()

    @torch.no_grad()
    def forward(self, batch: BatchInput):
        """Write the keys and values of `batch` to the cache; logits [M, vocab] of its `logits_indices`."""
        inputs = step_inputs(batch, self.model.embed_tokens.weight.device)
        with forward_context(self.kv, self.backend, inputs):
            hidden = hidden_states(self.model, inputs.input_ids, inputs.positions)
        return logits(self.model, hidden[inputs.logits_indices])
