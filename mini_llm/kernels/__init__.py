"""Kernels in Triton, which no chapter teaches: everything runs without them, and faster with them."""

import os
import sys
from importlib.util import find_spec


def why_no_triton() -> str | None:
    """One sentence that says why Triton kernels cannot run here, or None when they can."""
    import torch

    if find_spec("triton") is None:
        return f"triton is not installed in {sys.executable}"
    if not torch.cuda.is_available() and os.environ.get("TRITON_INTERPRET") != "1":
        return "there is no GPU; TRITON_INTERPRET=1, set before Python starts, runs them slowly on a CPU"
    return None
