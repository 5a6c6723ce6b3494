"""The kernels between products equal their plain forms."""

import pytest
import torch
from stage import copy_of, error, random_cache, step_inputs

from mini_llm.kernels import elementwise
from mini_llm.kernels.decode_attention import rope_table
from mini_llm.layers import RMSNorm

DTYPES = [torch.float32] + [torch.bfloat16] * torch.cuda.is_available()


def tolerance(dtype):
    return 1e-5 if dtype == torch.float32 else 1e-2


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("hidden", [64, 72, 1024])
@pytest.mark.parametrize("adds", [True, False])
def test_add_rms_norm(adds, hidden, dtype, device):
    x, delta = (torch.randn(3, hidden, device=device).to(dtype) for _ in range(2))
    delta = delta if adds else None
    norm = RMSNorm(hidden, 1e-6).to(device, dtype).requires_grad_(False)
    norm.weight.normal_()
    x_twin, out, expected = x.clone(), torch.empty_like(x), torch.empty_like(x)
    elementwise.add_rms_norm_plain(x_twin, delta, norm.weight, 1e-6, expected)
    assert torch.equal(expected, norm(x_twin))
    assert elementwise.add_rms_norm(x, delta, norm.weight, 1e-6, out) is out
    assert torch.equal(x, x_twin) and error(out, expected) <= tolerance(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("inter", [48, 1100])
def test_silu_mul(inter, dtype, device):
    gate_up = torch.randn(3, 2 * inter, device=device).to(dtype)
    out, expected = (torch.empty(3, inter, dtype=dtype, device=device) for _ in range(2))
    elementwise.silu_mul_plain(gate_up, expected)
    assert elementwise.silu_mul(gate_up, out) is out and error(out, expected) <= tolerance(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("nh", "nkv", "hd", "norm"), [(4, 2, 16, True), (3, 1, 8, False), (2, 2, 24, True)])
def test_norm_rope_write(nh, nkv, hd, norm, dtype, device):
    inputs, num_blocks = step_inputs([5, 1, 40], device=device, padding=2)
    kv = random_cache(2, num_blocks, 4, nkv, hd, dtype, device)
    twin = copy_of(kv)
    qkv = torch.randn(5, (nh + 2 * nkv) * hd, device=device).to(dtype)
    gains = [torch.randn(hd, device=device).to(dtype) if norm else None for _ in range(2)]
    rope = rope_table(64, hd, 1e4, device)
    out, expected = (torch.empty(5, nh * hd, dtype=dtype, device=device) for _ in range(2))
    where = (1e-6, rope, inputs.positions, inputs.slot_mapping)
    elementwise.norm_rope_write_plain(qkv, twin, 1, *gains, *where, expected)
    assert elementwise.norm_rope_write(qkv, kv, 1, *gains, *where, out) is out
    assert error(out, expected) <= tolerance(dtype)
    for ours, theirs in zip((*kv.k, *kv.v), (*twin.k, *twin.v), strict=True):
        assert error(ours, theirs) <= tolerance(dtype)
