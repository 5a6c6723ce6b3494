"""The parts of a layer, each against its definition."""

import math

import torch

from mini_llm import Config, KVCache, RMSNorm, apply_rope, rope_cos_sin
from mini_llm.layers import Attention, DecoderLayer


def close(a, b, tolerance=1e-6):
    return bool((a - b).abs().max() <= tolerance)  # nan is not close to anything


def test_rms_norm_is_its_formula():
    x = torch.randn(3, 5, 16) * 7
    norm = RMSNorm(16, 1e-3)
    norm.weight.data.uniform_(0.5, 2)
    assert close(norm(x), x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-3) * norm.weight, 1e-5)


def test_rms_norm_takes_its_statistics_in_fp32():
    x = torch.full((1, 64), 300.0, dtype=torch.float16)  # 300 squared is inf in fp16
    norm = RMSNorm(64, 1e-6).half()
    assert norm(x).dtype == torch.float16
    assert close(norm(x).float(), torch.ones(1, 64), 1e-3)


def test_rope_angles():
    positions = torch.tensor([0, 3, 1000])
    cos, sin = rope_cos_sin(positions, 8, 1e4)
    assert cos.shape == sin.shape == (3, 8) and cos.dtype == sin.dtype == torch.float32
    for t, position in enumerate(positions.tolist()):
        for i in range(8):
            angle = position / 1e4 ** (2 * (i % 4) / 8)
            assert abs(cos[t, i].item() - math.cos(angle)) <= 1e-4
            assert abs(sin[t, i].item() - math.sin(angle)) <= 1e-4


def test_rope_rotates_pairs_by_the_relative_position_only():
    q, k = torch.randn(1, 1, 1, 8), torch.randn(1, 1, 1, 8)

    def score(query_at, key_at):
        rotated = apply_rope(q, *rope_cos_sin(torch.tensor([query_at]), 8, 1e4))
        return (rotated * apply_rope(k, *rope_cos_sin(torch.tensor([key_at]), 8, 1e4))).sum()

    assert close(score(9, 4), score(105, 100), 1e-4)
    assert not close(score(9, 4), score(9, 5), 1e-4)
    assert close(apply_rope(q, *rope_cos_sin(torch.tensor([7]), 8, 1e4)).norm(), q.norm(), 1e-5)


def test_rope_result_has_the_dtype_of_its_input():
    x = torch.randn(1, 2, 3, 8, dtype=torch.bfloat16)
    assert apply_rope(x, *rope_cos_sin(torch.arange(3), 8, 1e4)).dtype == torch.bfloat16


def test_rope_stays_on_the_device_of_the_positions():
    cos, sin = rope_cos_sin(torch.arange(3, device="meta"), 8, 1e4)
    assert cos.device.type == sin.device.type == "meta"


def test_cache_grows_and_returns_everything():
    cache = KVCache(2)
    assert cache.length == 0 and cache.k == [None, None] and cache.v == [None, None]
    first, second = torch.randn(1, 2, 3, 4), torch.randn(1, 2, 1, 4)
    assert cache.update(0, first, -first)[0] is first
    k, v = cache.update(0, second, -second)
    assert torch.equal(k, torch.cat((first, second), dim=2)) and torch.equal(v, -k)
    assert cache.k[0] is k and cache.v[0] is v and cache.k[1] is None
    assert cache.length == 4


def test_cache_of_half_a_model_knows_its_length():
    cache = KVCache(4)
    cache.update(2, torch.zeros(1, 1, 5, 4), torch.zeros(1, 1, 5, 4))
    assert cache.length == 5


CFG = Config(97, 32, 48, 2, 4, 2, head_dim=16, qk_norm=True)


def test_a_layer_is_called_and_named_as_the_contract_says():
    layer = DecoderLayer(CFG, 1)
    attention = layer.self_attn
    assert (attention.layer, attention.nh, attention.nkv, attention.hd) == (1, 4, 2, 16)
    assert attention.q_proj.weight.shape == (64, 32) and attention.k_proj.weight.shape == (32, 32)
    assert isinstance(attention.q_norm, RMSNorm) and isinstance(attention.k_norm, RMSNorm)
    for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
        assert type(getattr(attention, name)) is torch.nn.Linear
    for name in ("gate_proj", "up_proj", "down_proj"):
        assert type(getattr(layer.mlp, name)) is torch.nn.Linear
    x = torch.randn(2, 3, 32)
    assert layer(x, *rope_cos_sin(torch.arange(3), 16, 1e4)).shape == x.shape


def test_without_qk_norm_the_two_norms_are_identities():
    attention = Attention(Config(97, 32, 48, 2, 4, 2), 0)
    assert isinstance(attention.q_norm, torch.nn.Identity) and isinstance(attention.k_norm, torch.nn.Identity)


def test_attention_sliced_by_head_adds_up():
    """Tensor parallelism as later scripts do it: every rank keeps some heads, o_proj's parts are summed."""
    torch.manual_seed(0)
    whole = Attention(CFG, 0)
    x, (cos, sin) = torch.randn(1, 5, 32), rope_cos_sin(torch.arange(5), 16, 1e4)
    total = 0
    for rank in range(2):
        part = Attention(CFG, 0)
        part.load_state_dict(whole.state_dict())
        part.nh, part.nkv = 2, 1
        rows, kv_rows = slice(32 * rank, 32 * rank + 32), slice(16 * rank, 16 * rank + 16)
        part.q_proj.weight.data = whole.q_proj.weight.data[rows]
        part.k_proj.weight.data = whole.k_proj.weight.data[kv_rows]
        part.v_proj.weight.data = whole.v_proj.weight.data[kv_rows]
        part.o_proj.weight.data = whole.o_proj.weight.data[:, rows]
        total = total + part(x, cos, sin)
    assert close(total, whole(x, cos, sin), 1e-5)
