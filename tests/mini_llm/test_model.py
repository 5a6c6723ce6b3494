"""Logits against transformers, for checkpoints that transformers saved; and what a bad checkpoint says."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from mini_llm import Config, KVCache, Transformer

transformers = pytest.importorskip("transformers")

SHAPE = dict(
    vocab_size=101,
    hidden_size=48,
    intermediate_size=80,
    num_hidden_layers=3,
    num_attention_heads=6,
    num_key_value_heads=2,
    rms_norm_eps=1e-5,
    rope_parameters={"rope_type": "default", "rope_theta": 5e4},
)
KINDS = {
    "llama": lambda: transformers.LlamaConfig(**SHAPE),
    "llama-tied": lambda: transformers.LlamaConfig(**SHAPE, tie_word_embeddings=True),
    "llama-one-head-each": lambda: transformers.LlamaConfig(**SHAPE | {"num_key_value_heads": 6}),
    "qwen2": lambda: transformers.Qwen2Config(**SHAPE),
    "qwen3": lambda: transformers.Qwen3Config(**SHAPE, head_dim=16),  # 6 * 16 is not the hidden size
    "qwen3-tied": lambda: transformers.Qwen3Config(**SHAPE, head_dim=32, tie_word_embeddings=True),
}


def peer_of(kind):
    """transformers' model of that kind, every weight drawn large enough to matter, norms and biases too."""
    torch.manual_seed(0)
    peer = transformers.AutoModelForCausalLM.from_config(KINDS[kind](), dtype=torch.float32).eval()
    for name, weight in peer.named_parameters():
        weight.data.uniform_(0.5, 1.5) if "norm" in name else weight.data.normal_(std=0.3)
    return peer


def agree(ours, theirs, tolerance=1e-4):
    """Largest difference relative to the largest value. Written so that a nan on either side fails."""
    assert ours.shape == theirs.shape
    return bool((ours - theirs).abs().max() <= tolerance * theirs.abs().max())


@pytest.fixture(autouse=True)
def no_gradients():
    with torch.no_grad():
        yield


@pytest.mark.parametrize("shard_size", ["1GB", "40KB"], ids=["whole", "sharded"])
@pytest.mark.parametrize("kind", KINDS)
def test_logits_equal_transformers(tmp_path, kind, shard_size):
    peer = peer_of(kind)
    peer.save_pretrained(tmp_path, max_shard_size=shard_size)
    assert (len(list(tmp_path.glob("*.safetensors"))) > 1) == (shard_size == "40KB")
    model = Transformer.from_pretrained(tmp_path)

    ids = torch.randint(0, 101, (2, 17))
    cache, peer_cache = KVCache(model.cfg.num_hidden_layers), transformers.DynamicCache()
    # prefill, a second chunk of the prompt, then single decode steps
    for part in ids.split([9, 4, 1, 1, 1, 1], dim=1):
        theirs = peer(part, past_key_values=peer_cache).logits
        assert agree(model(part, cache), theirs)
    assert cache.length == 17
    # the cache changes nothing, and neither does the company in the batch
    whole = peer(ids).logits
    assert agree(model(ids), whole)
    assert agree(torch.cat([model(row[None]) for row in ids]), whole)


def test_nan_never_agrees():
    values = torch.ones(3)
    assert agree(values, values)
    assert not agree(values * float("nan"), values) and not agree(values, values * float("nan"))


def test_weights_are_cast_to_the_dtype_asked_for(tmp_path):
    peer_of("qwen3-tied").to(torch.bfloat16).save_pretrained(tmp_path)
    ids = torch.randint(0, 101, (1, 8))

    model = Transformer.from_pretrained(tmp_path)
    assert {weight.dtype for weight in model.parameters()} == {torch.float32}
    peer = transformers.AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.float32)
    assert agree(model(ids), peer(ids).logits), "bf16 weights, fp32 arithmetic"

    half = Transformer.from_pretrained(tmp_path, dtype=torch.bfloat16)
    assert {weight.dtype for weight in half.parameters()} == {torch.bfloat16}
    assert agree(half(ids), model(ids), 0.1), "bf16 arithmetic, roughly"


def test_tied_weights_are_one_tensor(tmp_path):
    peer_of("llama-tied").save_pretrained(tmp_path)
    model = Transformer.from_pretrained(tmp_path)
    assert model.lm_head.weight is model.embed_tokens.weight
    assert sum(weight.numel() for weight in model.parameters()) == model.cfg.num_parameters()
    # a checkpoint that keeps the tied copy as well loads just the same
    weights = load_file(tmp_path / "model.safetensors")
    weights["lm_head.weight"] = weights["model.embed_tokens.weight"].clone()
    save_file(weights, tmp_path / "model.safetensors")
    assert Transformer.from_pretrained(tmp_path).lm_head.weight.shape == (101, 48)


@pytest.mark.parametrize("kind", KINDS)
def test_number_of_parameters(kind, tmp_path):
    peer = peer_of(kind)
    peer.config.save_pretrained(tmp_path)
    assert Config.from_json(tmp_path).num_parameters() == peer.num_parameters()


def test_a_random_model_is_the_same_twice_and_its_layers_differ():
    cfg = Config(101, 48, 80, 2, 6, 2, qk_norm=True, tie_word_embeddings=True)
    one, two, other = (Transformer.random(cfg, seed=seed) for seed in (1, 1, 2))
    ids = torch.randint(0, 101, (1, 5))
    assert torch.equal(one(ids), two(ids)) and not torch.equal(one(ids), other(ids))
    assert one.lm_head.weight is one.embed_tokens.weight
    first, second = (layer.self_attn.q_proj.weight for layer in one.layers)
    assert not torch.equal(first, second) and torch.isfinite(one(ids)).all()


# --- checkpoints that do not fit ------------------------------------------------------------------


def test_a_missing_and_an_unknown_weight_are_named(tmp_path):
    peer_of("llama").save_pretrained(tmp_path)
    file = tmp_path / "model.safetensors"
    weights = load_file(file)
    taken = weights.pop("model.layers.1.mlp.up_proj.weight")
    save_file(weights, file)
    with pytest.raises(ValueError, match=r"lacks layers\.1\.mlp\.up_proj\.weight"):
        Transformer.from_pretrained(tmp_path)
    weights |= {"model.layers.1.mlp.up_proj.weight": taken, "model.layers.1.mlp.router.weight": taken.clone()}
    save_file(weights, file)
    with pytest.raises(ValueError, match=r"model\.layers\.1\.mlp\.router\.weight, which no layer"):
        Transformer.from_pretrained(tmp_path)


def test_a_weight_of_another_shape_is_named(tmp_path):
    peer_of("llama").save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"intermediate_size": 96}))
    with pytest.raises(ValueError, match=r"mlp\.\w+_proj\.weight .* shape .*80.*96"):
        Transformer.from_pretrained(tmp_path)


def test_a_missing_shard_and_a_cut_one_are_named(tmp_path):
    peer_of("llama").save_pretrained(tmp_path, max_shard_size="40KB")
    shard = sorted(tmp_path.glob("*.safetensors"))[1]
    data = shard.read_bytes()
    shard.write_bytes(data[: len(data) // 2])
    with pytest.raises(ValueError, match=rf"{shard.name} is damaged"):
        Transformer.from_pretrained(tmp_path)
    shard.unlink()
    with pytest.raises(ValueError, match=rf"lacks {shard.name}"):
        Transformer.from_pretrained(tmp_path)
