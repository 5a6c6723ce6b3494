"""The kernel that chapter 5 writes equals an addition and the plain layer's norm."""

import pytest
import torch
from stage import error

from mini_llm.fused_norm import fused_add_rms_norm
from mini_llm.layers import RMSNorm

# Triton's interpreter cuts bfloat16 where a GPU rounds, and so does not give the same numbers
DTYPES = [torch.float32, torch.float16] + [torch.bfloat16] * torch.cuda.is_available()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("hidden", [64, 72, 1])
def test_it_is_the_layers_addition_and_norm(hidden, dtype, device):
    x, delta = (torch.randn(3, hidden, device=device).to(dtype) for _ in range(2))
    norm = RMSNorm(hidden, 1e-5).to(device, dtype).requires_grad_(False)
    norm.weight.normal_()
    total = x + delta
    out = fused_add_rms_norm(x, delta, norm.weight, 1e-5)
    assert torch.equal(x, total) and out.dtype == dtype
    assert error(out, norm(total)) <= (1e-5 if dtype == torch.float32 else 2e-3 if dtype == torch.float16 else 1e-2)
