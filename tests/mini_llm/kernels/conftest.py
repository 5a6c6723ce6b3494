"""Kernels run on the GPU where there is one, else in Triton's interpreter (tests/conftest.py chooses it)."""

import pytest
import torch

from mini_llm.kernels import why_no_triton

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def pytest_collection_modifyitems(items):
    reason = why_no_triton()
    for item in items:
        if reason and item.path.parent.name == "kernels":
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture
def device():
    return DEVICE


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)
