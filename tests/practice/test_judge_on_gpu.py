"""On a GPU one child of the worker serves every test of a problem: a call that breaks it must not touch the others."""

from __future__ import annotations

import pytest
import torch
from judging import judge

from grader.problems import ROOT

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]

# What a call does that should have said that the number of inputs is wrong, and the words for it.
BREAKS = {
    "kernel": (
        "torch.zeros(3, device='cuda')[torch.tensor([9], device='cuda')]; torch.cuda.synchronize()",
        "CUDA error",
    ),
    "process": ("import os; os._exit(3)", "exit code 3"),
    "endless": ("while True: pass", "did not finish"),
    "endless_on_the_gpu": ("torch.cuda._sleep(40_000_000_000); torch.cuda.synchronize()", "did not finish"),
    "memory": ("hold = [bytearray(b'x' * (64 << 20)) for _ in range(200)]", "MiB of memory"),
    "gpu_memory": (
        "hold = [torch.ones(1 << 30, device='cuda') for _ in range(1000)]",
        "MiB of memory",
    ),
}


def breaking(how: str) -> str:
    source = (ROOT / "mini_llm" / "graphs.py").read_text(encoding="utf-8")
    start = source.index("    if len(values) != len(buffers):")
    end = source.index("    for place, (buffer, value)")
    return f"{source[:start]}    if len(values) != len(buffers):\n        {BREAKS[how][0]}\n{source[end:]}"


def test_the_tensors_of_a_problem_are_on_the_gpu():
    report = judge("132", ROOT / "mini_llm" / "graphs.py")
    assert (report["verdict"], report["device"]) == ("accepted", "cuda"), report


@pytest.mark.parametrize("asked", ["process", "landlock", "landlock,seccomp", "bubblewrap"])
def test_each_layer_judges_beside_a_gpu(asked):
    report = judge("135", ROOT / "mini_llm" / "bucket_runner.py", "--sandbox", asked)
    if report["exit"] == 3:
        pytest.skip(report["error"])
    assert report["verdict"] == "accepted", report
    assert set(asked.split(",")) <= set(report["sandbox"])
    assert report["device"] == "cuda", report["notes"]


@pytest.mark.parametrize("how", BREAKS)
def test_what_breaks_a_child_fails_its_own_tests_only(how, tmp_path):
    file = tmp_path / "graphs.py"
    file.write_text(breaking(how), encoding="utf-8")
    report = judge("132", file)
    failed = {t["name"]: t["message"] for t in report["tests"] if t["outcome"] != "passed"}
    assert "copy_in_refuses_another_number_of_inputs" in failed
    assert all("refuses" in name for name in failed), failed
    assert BREAKS[how][1] in failed["copy_in_refuses_another_number_of_inputs"], failed
