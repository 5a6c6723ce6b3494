"""Scripts written for the book's mini_llm run here unchanged: names, arguments, shapes and layouts are public.

Each script uses nothing but `from mini_llm import ...` and what CONTRACT says about those names.
"""

import pytest
import torch
import torch.nn.functional as F

from mini_llm import (
    BlockPool,
    Config,
    KVCache,
    ModelRunner,
    PagedKVCache,
    RMSNorm,
    Transformer,
    apply_rope,
    build_batch,
    generate,
    paged_attention,
    rope_cos_sin,
    slot_mapping_for,
)

CONFIGS = {
    "qwen3": Config(
        vocab_size=101,
        hidden_size=48,
        intermediate_size=80,
        num_hidden_layers=4,
        num_attention_heads=6,
        num_key_value_heads=2,
        qk_norm=True,
    ),
    "qwen2": Config(101, 48, 80, 4, 6, 2, attention_bias=True),
}


@pytest.fixture(params=CONFIGS)
def model(request):
    torch.manual_seed(0)
    model = Transformer(CONFIGS[request.param])
    for weight in model.parameters():
        if weight.ndim == 2:
            weight.data.normal_(std=0.3)
        else:  # norms and biases that matter
            weight.data.uniform_(0.5, 1.5)
    return model.eval()


@pytest.fixture(autouse=True)
def no_gradients():
    with torch.no_grad():
        yield


def agree(ours, theirs, tolerance=1e-4):
    assert ours.shape == theirs.shape
    return bool((ours - theirs).abs().max() <= tolerance * theirs.abs().max())  # nan never agrees


def test_pipeline_parallel_two_half_models(model):
    """Each half has its layers and a cache of its own; hidden states go from one to the other."""

    class Half(torch.nn.Module):
        def __init__(self, model, first, last):
            super().__init__()
            self.cfg = model.cfg
            self.embed_tokens = model.embed_tokens if first == 0 else None
            self.layers = torch.nn.ModuleList(model.layers[first:last])
            self.norm = model.norm if last == len(model.layers) else None
            self.lm_head = model.lm_head if last == len(model.layers) else None
            self.cache = KVCache(len(model.layers))

        def forward(self, x):
            start = self.cache.length
            positions = torch.arange(start, start + x.shape[1])
            cos, sin = rope_cos_sin(positions, self.cfg.hd, self.cfg.rope_theta)
            if self.embed_tokens is not None:
                x = self.embed_tokens(x)
            for layer in self.layers:
                x = layer(x, cos, sin, self.cache)
            return x if self.lm_head is None else self.lm_head(self.norm(x))

    front, back = Half(model, 0, 2), Half(model, 2, 4)
    prompt, new = torch.randint(0, 101, (2, 7)), []
    token = prompt
    for _ in range(6):
        hidden = front(token)
        assert hidden.shape == (2, token.shape[1], 48)
        token = back(hidden)[:, -1:].argmax(-1)
        new.append(token)
    assert torch.equal(torch.cat(new, 1), generate(model, prompt, 6))
    assert front.cache.length == back.cache.length == 12
    assert front.cache.k[2] is None and back.cache.k[1] is None
    assert back.cache.k[3].shape == (2, 2, 12, 8)


def test_tensor_parallel_projections_sliced_by_head(model):
    """Two ranks: each has half of the heads and of the MLP, and the two partial sums are added."""
    ranks, cfg = 2, model.cfg
    ids = torch.randint(0, 101, (1, 9))
    cos, sin = rope_cos_sin(torch.arange(9), cfg.hd, cfg.rope_theta)

    def rows(linear, rank):
        size = linear.weight.shape[0] // ranks
        part = slice(rank * size, (rank + 1) * size)
        return linear.weight[part], None if linear.bias is None else linear.bias[part]

    def columns(linear, rank):
        assert linear.bias is None
        size = linear.weight.shape[1] // ranks
        return linear.weight[:, rank * size : (rank + 1) * size]

    def attention(attn, x, rank):
        nh, nkv, T = attn.nh // ranks, attn.nkv // ranks, x.shape[1]
        q = F.linear(x, *rows(attn.q_proj, rank)).view(1, T, nh, attn.hd)
        k = F.linear(x, *rows(attn.k_proj, rank)).view(1, T, nkv, attn.hd)
        v = F.linear(x, *rows(attn.v_proj, rank)).view(1, T, nkv, attn.hd)
        q, k = attn.q_norm(q).transpose(1, 2), attn.k_norm(k).transpose(1, 2)
        q, k, v = apply_rope(q, cos, sin), apply_rope(k, cos, sin), v.transpose(1, 2)
        k, v = k.repeat_interleave(nh // nkv, dim=1), v.repeat_interleave(nh // nkv, dim=1)
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return F.linear(out.transpose(1, 2).reshape(1, T, -1), columns(attn.o_proj, rank))

    def mlp(mlp, x, rank):
        gate = F.silu(F.linear(x, rows(mlp.gate_proj, rank)[0]))
        return F.linear(gate * F.linear(x, rows(mlp.up_proj, rank)[0]), columns(mlp.down_proj, rank))

    x = model.embed_tokens(ids)
    for i, layer in enumerate(model.layers):
        assert layer.self_attn.layer == i
        normed = layer.input_layernorm(x)
        x = x + sum(attention(layer.self_attn, normed, rank) for rank in range(ranks))
        normed = layer.post_attention_layernorm(x)
        x = x + sum(mlp(layer.mlp, normed, rank) for rank in range(ranks))
    assert agree(model.lm_head(model.norm(x)), model(ids))


def test_continuous_batching_with_the_model_runner(model):
    """Two prompts in one flat batch, then decode; a third one is prefilled in chunks beside them."""
    cfg, block_size = model.cfg, 4
    pool = BlockPool(num_blocks=16)
    kv = PagedKVCache(cfg.num_hidden_layers, 16, block_size, cfg.num_key_value_heads, cfg.hd)
    runner = ModelRunner(model, kv)
    sequences = [torch.randint(0, 101, (n,)).tolist() for n in (5, 9, 10)]
    expected = [generate(model, torch.tensor([ids]), 4)[0].tolist() for ids in sequences]
    tables = [pool.allocate(4) for _ in sequences]
    assert tables[0] == [0, 1, 2, 3] and pool.num_free() == 4

    def step(items):
        batch = build_batch(items, block_size)
        logits = runner.forward(batch)
        assert logits.shape == (len(batch.logits_indices), cfg.vocab_size)
        return logits.argmax(-1).tolist()

    computed, new = [0, 0, 0], [[], [], []]
    # how many tokens of each sequence go into each step
    for counts in ((5, 9, 0), (1, 1, 4), (1, 1, 3), (1, 1, 3), (0, 0, 1), (0, 0, 1), (0, 0, 1)):
        items, wanting = [], []
        for i, count in enumerate(counts):
            if count:
                whole = sequences[i] + new[i]
                need_logits = computed[i] + count == len(whole)
                items.append((whole[computed[i] : computed[i] + count], computed[i], tables[i], need_logits))
                computed[i] += count
                wanting += [i] if need_logits else []
        for i, token in zip(wanting, step(items), strict=True):
            new[i].append(token)
    assert new == expected
    for table in tables:
        pool.free(table)
    assert pool.num_free() == 16


def test_paged_attention_by_hand():
    """The cache filled by slots, read back by `gather`, attended to by `paged_attention`."""
    block_size, nkv, nh, hd = 4, 2, 4, 8
    kv = PagedKVCache(1, 8, block_size, nkv, hd, dtype=torch.float32)
    assert kv.k[0].shape == kv.v[0].shape == (8, block_size, nkv, hd)
    table = BlockPool(8).allocate(2)
    slots = slot_mapping_for(table, list(range(6)), block_size)
    assert slots == [0, 1, 2, 3, 4, 5]
    k, v = torch.randn(6, nkv, hd), torch.randn(6, nkv, hd)
    kv.write(0, torch.tensor(slots), k, v)
    keys, values = kv.gather(0, table, 6)
    assert torch.equal(keys, k) and torch.equal(values, v)
    q = torch.randn(1, nh, hd)
    out = paged_attention(q, kv, 0, [table], [6], [0, 1], scale=hd**-0.5)
    k, v = k.repeat_interleave(2, dim=1), v.repeat_interleave(2, dim=1)
    expected = F.scaled_dot_product_attention(q.transpose(0, 1), k.transpose(0, 1), v.transpose(0, 1))
    assert agree(out, expected.transpose(0, 1))


def test_layers_are_plain_linears_and_norms(model):
    attn, mlp, cfg = model.layers[0].self_attn, model.layers[0].mlp, model.cfg
    linears = [attn.q_proj, attn.k_proj, attn.v_proj, attn.o_proj, mlp.gate_proj, mlp.up_proj, mlp.down_proj]
    assert {type(linear) for linear in linears} == {torch.nn.Linear}
    assert (attn.nh, attn.nkv, attn.hd) == (6, 2, 8)
    assert attn.q_proj.weight.shape == (48, 48) and attn.k_proj.weight.shape == (16, 48)
    assert type(attn.q_norm) is type(attn.k_norm) is (RMSNorm if cfg.qk_norm else torch.nn.Identity)
