"""A product in one kernel equals its plain form, whatever surrounds it and however it is cut."""

import os
import subprocess
import sys

import pytest
import torch
from stage import error

from mini_llm.kernels.products import Tiling, product, product_plain

TILINGS = [Tiling(1, 1), Tiling(2, 4), Tiling(8, 2), None]
AROUND = {
    "nothing": (),
    "norm and bias": ("gain", "bias"),
    "norm and gate": ("gain", "gated"),
    "residual": ("residual",),
    "norm, gate and residual": ("gain", "gated", "residual"),
}
DTYPES = [torch.float32, torch.bfloat16]


def arguments(M, N, K, around, dtype, device):
    def random(*shape):
        return torch.randn(*shape, device=device).to(dtype)

    optional = {"gain": random(K), "bias": random(N), "gated": True, "residual": random(M, N)}
    weight = random(2 * N if "gated" in around else N, K)
    return random(M, K), weight, {"eps": 1e-6} | {name: optional[name] for name in around}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("around", AROUND.values(), ids=AROUND.keys())
@pytest.mark.parametrize("M", [1, 3])
@pytest.mark.parametrize("tiling", TILINGS, ids=str)
def test_equals_the_plain_form(tiling, M, around, dtype, device):
    x, weight, given = arguments(M, 30, 72, around, dtype, device)
    out = torch.full((M, 30), float("nan"), dtype=dtype, device=device)
    before = x.clone()
    assert product(x, weight, out, tiling=tiling, **given) is out
    assert error(out, product_plain(x, weight, **given)) <= (1e-5 if dtype == torch.float32 else 1e-2)
    assert torch.equal(x, before)


def test_adds_to_the_residual_in_place(device):
    x, weight, given = arguments(2, 24, 64, ("residual",), torch.float32, device)
    expected = product_plain(x, weight, **given)
    assert error(product(x, weight, given["residual"], **given), expected) <= 1e-5


def test_keeps_fp32_outputs_of_a_bf16_product(device):
    x, weight, _ = arguments(1, 24, 64, (), torch.bfloat16, device)
    out = torch.empty(1, 24, device=device)
    assert error(product(x, weight, out), product_plain(x, weight)) <= 1e-5


def test_refuses_a_bias_of_a_gated_product(device):
    x, weight, given = arguments(1, 24, 64, ("gated", "bias"), torch.float32, device)
    with pytest.raises(ValueError, match="no bias"):
        product(x, weight, torch.empty(1, 24), **given)


def test_takes_the_plain_form_without_a_gpu(monkeypatch):
    monkeypatch.setattr("mini_llm.kernels.INTERPRETED", False)
    x, weight, given = arguments(3, 24, 64, ("gain", "gated"), torch.float32, "cpu")
    assert torch.equal(product(x, weight, torch.empty(3, 24), **given), product_plain(x, weight, **given))


TOO_LATE = """
import os
import torch
from mini_llm.kernels.products import product, product_plain
os.environ["TRITON_INTERPRET"] = "1"
x, weight = torch.randn(2, 64), torch.randn(24, 64)
assert torch.equal(product(x, weight, torch.empty(2, 24)), product_plain(x, weight))
"""


@pytest.mark.skipif(torch.cuda.is_available(), reason="on a GPU the kernel runs in any case")
def test_a_variable_that_is_set_too_late_changes_nothing(pytestconfig):
    """Triton looks when a kernel is defined; one that was defined for a GPU must not be launched without one."""
    env = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-c", TOO_LATE], cwd=pytestconfig.rootpath, env=env, capture_output=True, text=True, timeout=99
    )
    assert done.returncode == 0, done.stderr
