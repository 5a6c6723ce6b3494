"""A product in one kernel equals its plain form, whatever surrounds it and however it is cut."""

import pytest
import torch
from stage import error

from mini_llm.kernels.products import Tiling, product, product_plain

ROWS = [Tiling("rows", block_n, num_warps) for block_n, num_warps in ((1, 1), (2, 4), (8, 2))]
TILES = [
    Tiling("tiles", 16, 4, block_k=32),
    Tiling("tiles", 32, 4, block_k=64, block_m=32),
    Tiling("tiles", 64, 4, block_k=32, block_m=64, num_stages=2),
]
AROUND = {
    "nothing": (),
    "norm and bias": ("gain", "bias"),
    "norm and gate": ("gain", "gated"),
    "residual": ("residual",),
    "norm, gate and residual": ("gain", "gated", "residual"),
}
DTYPES = [torch.float32] + [torch.bfloat16] * torch.cuda.is_available()


def arguments(M, N, K, around, dtype, device):
    def random(*shape):
        return torch.randn(*shape, device=device).to(dtype)

    optional = {"gain": random(K), "bias": random(N), "gated": True, "residual": random(M, N)}
    weight = random(2 * N if "gated" in around else N, K)
    return random(M, K), weight, {"eps": 1e-6} | {name: optional[name] for name in around}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("around", AROUND.values(), ids=AROUND.keys())
@pytest.mark.parametrize(
    ("M", "tiling"), [*((M, t) for t in ROWS for M in (1, 3)), *((M, t) for t in TILES for M in (5, 37))], ids=str
)
def test_equals_the_plain_form(M, tiling, around, dtype, device):
    x, weight, given = arguments(M, 44, 72, around, dtype, device)
    out = torch.full((M, 44), float("nan"), dtype=dtype, device=device)
    before = x.clone()
    assert product(x, weight, out, tiling=tiling, **given) is out
    assert error(out, product_plain(x, weight, **given)) <= (1e-5 if dtype == torch.float32 else 1e-2)
    assert torch.equal(x, before)


@pytest.mark.parametrize("tiling", [ROWS[1], TILES[0]], ids=str)
def test_adds_to_the_residual_in_place(tiling, device):
    x, weight, given = arguments(2, 24, 64, ("residual",), torch.float32, device)
    expected = product_plain(x, weight, **given)
    assert error(product(x, weight, given["residual"], tiling=tiling, **given), expected) <= 1e-5


@pytest.mark.parametrize("M", [1, 4, 5, 16, 40])
def test_has_a_tiling_for_any_number_of_rows(M, device):
    x, weight, given = arguments(M, 130, 48, ("gain",), torch.float32, device)
    out = torch.full((M, 130), float("nan"), device=device)
    assert error(product(x, weight, out, **given), product_plain(x, weight, **given)) <= 1e-5


def test_keeps_fp32_outputs_of_a_bf16_product(device):
    x, weight, _ = arguments(1, 24, 64, (), torch.bfloat16, device)
    out = torch.empty(1, 24, device=device)
    assert error(product(x, weight, out), product_plain(x, weight)) <= 1e-5


def test_refuses_a_bias_of_a_gated_product(device):
    x, weight, given = arguments(1, 24, 64, ("gated", "bias"), torch.float32, device)
    with pytest.raises(ValueError, match="no bias"):
        product(x, weight, torch.empty(1, 24), **given)


def test_takes_the_plain_form_without_a_gpu(monkeypatch):
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    x, weight, given = arguments(3, 24, 64, ("gain", "gated"), torch.float32, "cpu")
    assert torch.equal(product(x, weight, torch.empty(3, 24), **given), product_plain(x, weight, **given))
