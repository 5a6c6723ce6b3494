from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
import torch

if not torch.cuda.is_available():  # before any test imports a kernel: Triton looks when a kernel is defined
    os.environ["TRITON_INTERPRET"] = "1"

sys.path.insert(0, str(Path(__file__).parent / "practice"))  # `judging`, for tests outside that folder


def pytest_configure(config):
    """pytest-xdist's workers ignore Ctrl-C, and what they start would inherit that: tests press it on purpose."""
    if hasattr(config, "workerinput"):
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items):
    """`slow` tests run with SLOW=1, and say so otherwise: nothing is skipped silently."""
    if os.environ.get("SLOW") in ("1", "2"):
        return
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.skip(reason="slow: run with SLOW=1"))


@pytest.fixture(autouse=True)
def _plain_forms(request, monkeypatch):
    """Without a GPU, operations take their plain form; only the kernels' own tests run the slow interpreter."""
    if request.path.parent.name != "kernels":
        monkeypatch.setattr("mini_llm.kernels.INTERPRETED", False)
