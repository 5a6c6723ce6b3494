"""Where Triton is missing, everything imports and takes its plain form; only a launch fails, and says why."""

import subprocess
import sys

SCRIPT = """
import sys
sys.modules["triton"] = None  # as if it were not installed
import torch
from types import SimpleNamespace
from mini_llm import Config, Transformer
from mini_llm.fused_norm import fused_add_rms_norm
from mini_llm.kernels import launch
from mini_llm.kernels.decode_step import FinalStep
from mini_llm.paged import PagedKVCache

model = Transformer.random(Config(97, 40, 72, 2, 4, 2, qk_norm=True, head_dim=16))
names = ("input_ids", "positions", "slot_mapping", "seq_lens")
inputs = SimpleNamespace(**dict(zip(names, torch.tensor([[3], [0], [4], [1]]))), block_table=torch.tensor([[1]]))
ours = FinalStep(model, PagedKVCache(2, 3, 4, 2, 16), max_batch=1)(inputs)
assert (ours - model(torch.tensor([[3]]))[0]).abs().max() <= 1e-5
try:
    launch.inputs_ready[(1,)]()
except RuntimeError as error:
    print(error)
try:
    fused_add_rms_norm(torch.ones(1, 4), torch.ones(1, 4), torch.ones(4), 1e-6)
except RuntimeError as error:
    print(error)
"""


def test_the_step_runs_and_a_launch_says_what_is_missing(pytestconfig):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=pytestconfig.rootpath, capture_output=True, text=True, timeout=120
    )
    needs, fused = done.stdout.splitlines()
    assert needs == "this needs Triton: pip install triton", done.stderr
    assert fused == f"fused_add_rms_norm is a Triton kernel, and triton is not installed in {sys.executable}."
