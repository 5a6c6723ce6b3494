"""The fused attention equals its plain form, and that one equals the layers that chapter 1 counts."""

import pytest
import torch
from stage import copy_of, error, random_cache, step_inputs

from mini_llm import Config, KVCache
from mini_llm.kernels.decode_attention import (
    Scratch,
    decode_attention,
    decode_attention_plain,
    rope_table,
)
from mini_llm.layers import Attention, rope_cos_sin

EPS = 1e-6
LENGTHS = [1, 2, 9, 64, 65, 66, 130, 17]
DTYPES = [torch.float32] + [torch.bfloat16] * torch.cuda.is_available()


def scene(seq_lens, nh, nkv, hd, device, dtype=torch.float32, norm=True, padding=0, block_size=4):
    inputs, num_blocks = step_inputs(seq_lens, block_size, device=device, padding=padding)
    kv = random_cache(2, num_blocks, block_size, nkv, hd, dtype, device)
    N = len(inputs.positions)
    qkv = torch.randn(N, (nh + 2 * nkv) * hd, device=device).to(dtype)
    gains = [torch.rand(hd, device=device).to(dtype) + 0.5 if norm else None for _ in range(2)]
    rope = rope_table(max(seq_lens), hd, 1e4, device)
    out = torch.full((N, nh * hd), float("nan"), dtype=dtype, device=device)
    return qkv, kv, gains, rope, inputs, out, Scratch(N, nh, hd, device)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("splits", [1, 2, 16])
@pytest.mark.parametrize(("nh", "nkv", "hd", "norm"), [(4, 2, 16, True), (3, 1, 8, False), (2, 2, 24, True)])
def test_equals_the_plain_form(nh, nkv, hd, norm, splits, dtype, device):
    qkv, kv, gains, rope, inputs, out, scratch = scene(LENGTHS, nh, nkv, hd, device, dtype, norm)
    twin = copy_of(kv)
    expected = decode_attention_plain(qkv, twin, 1, *gains, EPS, rope, inputs)
    assert decode_attention(qkv, kv, 1, *gains, EPS, rope, inputs, out, scratch, splits=splits, keys=16) is out
    assert error(out, expected) <= (1e-5 if dtype == torch.float32 else 1e-2)
    assert all(
        torch.equal(ours, theirs) for ours, theirs in zip((kv.k[0], kv.v[0]), (twin.k[0], twin.v[0]), strict=True)
    )
    assert error(kv.k[1], twin.k[1]) <= 1e-6 and torch.equal(kv.v[1], twin.v[1])
    assert not scratch.tickets.any()  # all drawn tickets were put back for the next layer


@pytest.mark.parametrize("splits", [1, 4])
def test_padding_writes_nothing_and_stays_finite(splits, device):
    qkv, kv, gains, rope, inputs, out, scratch = scene([5, 40], 4, 2, 16, device, padding=2)
    twin = copy_of(kv)
    expected = decode_attention_plain(qkv, twin, 0, *gains, EPS, rope, inputs)
    decode_attention(qkv, kv, 0, *gains, EPS, rope, inputs, out, scratch, splits=splits, keys=16)
    assert error(kv.k[0], twin.k[0]) <= 1e-6 and torch.equal(kv.v[0], twin.v[0])
    assert out.isfinite().all() and error(out, expected) <= 1e-5

    before = copy_of(kv)
    inputs.slot_mapping.fill_(-1)
    decode_attention(torch.randn_like(qkv), kv, 0, *gains, EPS, rope, inputs, out, scratch, splits=splits, keys=16)
    assert torch.equal(kv.k[0], before.k[0]) and torch.equal(kv.v[0], before.v[0])


def test_nothing_that_is_not_the_request_s_is_read(device):
    qkv, kv, gains, rope, inputs, out, scratch = scene([5, 40], 4, 2, 16, device)
    decode_attention(qkv, kv, 0, *gains, EPS, rope, inputs, out, scratch, keys=16)
    expected = out.clone()
    used = torch.zeros(kv.num_blocks * kv.block_size, dtype=torch.bool)
    for row, length in enumerate([5, 40]):
        at = torch.arange(length)
        used[inputs.block_table.cpu()[row, at // kv.block_size] * kv.block_size + at % kv.block_size] = True
    for part in (kv.k[0], kv.v[0]):
        part.flatten(0, 1)[~used.to(device)] = float("nan")
    decode_attention(qkv, kv, 0, *gains, EPS, rope, inputs, out, scratch, keys=16)
    assert torch.equal(out, expected)


@pytest.mark.parametrize("qk_norm", [True, False])
def test_the_plain_form_equals_the_plain_layers(qk_norm):
    cfg = Config(11, 48, 32, 1, 6, 2, qk_norm=qk_norm, head_dim=16)
    attn = Attention(cfg, 0).requires_grad_(False)
    attn.o_proj = torch.nn.Identity()
    length = 21
    x = torch.randn(1, length, 48)
    cos, sin = rope_cos_sin(torch.arange(length), 16, cfg.rope_theta)
    cache = KVCache(1)
    expected = attn(x, cos, sin, cache)[0, -1]

    inputs, num_blocks = step_inputs([length])
    kv = random_cache(1, num_blocks, 4, 2, 16, torch.float32, "cpu")
    at = torch.arange(length - 1)
    slots = inputs.block_table[0, at // 4] * 4 + at % 4
    kv.write(0, slots, *(part[0][0, :, :-1].transpose(0, 1) for part in (cache.k, cache.v)))
    qkv = torch.cat([proj(x[0, -1:]) for proj in (attn.q_proj, attn.k_proj, attn.v_proj)], dim=-1)
    gains = [getattr(norm, "weight", None) for norm in (attn.q_norm, attn.k_norm)]
    ours = decode_attention_plain(qkv, kv, 0, *gains, EPS, rope_table(64, 16, cfg.rope_theta), inputs)
    assert error(ours[0], expected) <= 1e-5
    keys, values = kv.gather(0, inputs.block_table[0].tolist(), length)
    assert error(keys, cache.k[0][0].transpose(0, 1)) <= 1e-6
    assert error(values, cache.v[0][0].transpose(0, 1)) <= 1e-6  # another product than of all rows
