"""Kernels in Triton, which no chapter teaches: everything runs without them, and faster with them."""

import os
import sys
from importlib.util import find_spec

# Whether Triton's interpreter runs the kernels, on a CPU, one program after another. Triton looks at the variable
# when a kernel is defined, so a later change would come too late: it counts as it was when this was imported.
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"


def why_no_triton(device="cuda") -> str | None:
    """One sentence that says why Triton kernels cannot run on tensors of `device`, or None when they can."""
    import torch

    if find_spec("triton") is None:
        return f"triton is not installed in {sys.executable}"
    if not torch.cuda.is_available() and not INTERPRETED:
        return "there is no GPU; TRITON_INTERPRET=1, set before Python starts, runs them slowly on a CPU"
    if torch.device(device).type != "cuda" and not INTERPRETED:
        return f"a tensor on the {torch.device(device)} is out of reach for a kernel on the GPU"
    return None
