"""Kernels run on the GPU where there is one, else in Triton's interpreter, which must be chosen before import."""

import os

import pytest
import torch

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"

from mini_llm.kernels import why_no_triton  # noqa: E402

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
