"""The final step gives the logits of the plain Transformer, for every kind of model and batch."""

import pytest
import torch
from stage import error, step_inputs

from mini_llm import Config, KVCache, Transformer
from mini_llm.graphs import capture
from mini_llm.kernels.decode_step import FinalStep
from mini_llm.kernels.products import Tiling
from mini_llm.paged import PagedKVCache

CONFIGS = {
    "llama": Config(97, 48, 80, 2, 6, 2),
    "qwen2": Config(97, 48, 80, 2, 4, 2, attention_bias=True, tie_word_embeddings=True),
    "qwen3": Config(97, 40, 72, 2, 4, 2, qk_norm=True, tie_word_embeddings=True, head_dim=16),
}
BLOCK = 4


def lively_model(cfg, device, dtype=torch.float32):
    model = Transformer.random(cfg, seed=1)
    generator = torch.Generator().manual_seed(2)
    for name, weight in model.named_parameters():
        if "norm" in name or "bias" in name:
            weight.data.uniform_(0.5, 1.5, generator=generator)
        else:
            weight.data.normal_(std=0.3, generator=generator)
    return model.to(device, dtype)


class Requests:
    """Some prompts, prefilled by the plain model; their keys and values copied into a paged cache."""

    def __init__(self, model, lengths, more, device, padding=0):
        cfg, dtype = model.cfg, model.embed_tokens.weight.dtype
        self.model, self.lengths = model, list(lengths)
        self.inputs, num_blocks = step_inputs([n + more for n in lengths], BLOCK, device=device, padding=padding)
        self.kv = PagedKVCache(cfg.num_hidden_layers, num_blocks, BLOCK, cfg.num_key_value_heads, cfg.hd, dtype, device)
        self.caches = []
        for row, length in enumerate(self.lengths):
            cache = KVCache(cfg.num_hidden_layers)
            with torch.no_grad():
                model(torch.randint(cfg.vocab_size, (1, length), device=device), cache)
            self.caches.append(cache)
            for layer in range(cfg.num_hidden_layers):
                k, v = (part[layer][0].transpose(0, 1) for part in (cache.k, cache.v))
                self.kv.write(layer, self.slots(row, torch.arange(length)), k, v)

    def slots(self, row, at):
        return self.inputs.block_table[row, at // BLOCK] * BLOCK + (at % BLOCK).to(self.inputs.block_table.device)

    def next(self, tokens):
        """Set the inputs for one more token of each request; the plain model's logits [B, vocab] of it."""
        expected = []
        for row, token in enumerate(tokens):
            position = self.lengths[row]
            self.lengths[row] += 1
            self.inputs.input_ids[row] = token
            self.inputs.positions[row] = position
            self.inputs.seq_lens[row] = position + 1
            self.inputs.slot_mapping[row] = self.slots(row, torch.tensor(position))
            with torch.no_grad():
                expected.append(self.model(token.view(1, 1), self.caches[row])[0, -1])
        return torch.stack(expected)


@pytest.mark.parametrize("path", ["few", "many"])
@pytest.mark.parametrize("kind", CONFIGS)
def test_equals_the_plain_model_step_after_step(kind, path, device):
    model = lively_model(CONFIGS[kind], device)
    requests = Requests(model, [3, 8, 1], more=2, device=device, padding=1)
    step = FinalStep(model, requests.kv, max_batch=8)
    step.fused_rows = 8 if path == "few" else 0
    step.tiling_for = lambda M, N, K: Tiling(16, 1)  # few programs, for the interpreter's sake
    tokens = torch.tensor([5, 9, 60], device=device)
    for _ in range(2):
        expected = requests.next(tokens)
        ours = step(requests.inputs)
        assert ours.shape == (4, 97) and ours.dtype == torch.float32 and ours.isfinite().all()
        assert error(ours[:3], expected) <= 1e-4
        tokens = expected.argmax(-1)
        assert torch.equal(ours[:3].argmax(-1), tokens)


@pytest.mark.parametrize("path", ["few", "many"])
def test_a_graph_of_it_reads_what_is_in_its_inputs(path, device):
    model = lively_model(CONFIGS["qwen3"], device)
    requests = Requests(model, [3, 8, 70], more=3, device=device, padding=1)
    step = FinalStep(model, requests.kv, max_batch=4)
    step.fused_rows = 4 if path == "few" else 0
    graph = None
    tokens = torch.tensor([5, 9, 60], device=device)
    for _ in range(3):
        expected = requests.next(tokens)
        graph = graph or capture(lambda: step(requests.inputs), device=device)
        assert error(graph.replay()[:3], expected) <= 1e-4
        tokens = expected.argmax(-1)


def test_the_model_keeps_its_weights_and_shares_them(device):
    model = lively_model(CONFIGS["llama"], device)
    before = {name: weight.clone() for name, weight in model.named_parameters()}
    requests = Requests(model, [3], more=1, device=device)
    first, second = (FinalStep(model, requests.kv, max_batch=1).layers for _ in range(2))
    assert all(torch.equal(weight, before[name]) for name, weight in model.named_parameters())
    for mine, other, layer in zip(first, second, model.layers, strict=True):
        assert mine.qkv.data_ptr() == other.qkv.data_ptr() == layer.self_attn.q_proj.weight.data_ptr()
        assert mine.gate_up.data_ptr() == other.gate_up.data_ptr() == layer.mlp.gate_proj.weight.data_ptr()


def test_refuses_more_requests_than_it_was_made_for(device):
    model = lively_model(CONFIGS["llama"], device)
    requests = Requests(model, [3, 4], more=1, device=device)
    with pytest.raises(ValueError, match="at most 1 requests, not 2"):
        FinalStep(model, requests.kv, max_batch=1)(requests.inputs)
