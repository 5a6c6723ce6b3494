"""Where tensors live is found out in a child: CUDA that the worker itself had started could not be used in a fork."""

from __future__ import annotations

import os

import pytest
import torch

from grader import layers, worker
from grader.doctor import examine


def refuse():
    raise RuntimeError("CUDA unknown error\nand more")


@pytest.mark.parametrize(
    "devices, has_gpu, ones, found",
    [
        (["/dev/null"], lambda: True, lambda *a, device: torch.zeros(1), ("cuda", "")),
        (["/dev/null"], lambda: False, None, ("cpu", "PyTorch finds none")),
        (["/dev/null"], refuse, None, ("cpu", "CUDA unknown error")),
        (["/dev/null"], lambda: os._exit(1), None, ("cpu", "CUDA ended the process that asked for it")),
        ([], refuse, None, ("cpu", "")),
    ],
    ids=["works", "none", "fails", "dies", "no device files"],
)
def test_the_device_is_found_in_a_child(devices, has_gpu, ones, found, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(torch.backends.cuda, "is_built", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: asked.append(1) or has_gpu())
    monkeypatch.setattr(torch, "ones", ones)
    config = {"scratch": str(tmp_path), "devices": devices, "rlimits": {}, "landlock": False, "seccomp": False}
    assert worker.find_device(config) == found
    assert not asked, "the worker itself asked"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("devices, says", [([], ""), (["/dev/null"], "CPU")])
def test_doctor_says_where_tensors_are(devices, says, monkeypatch):
    monkeypatch.setattr(layers, "gpu_devices", lambda: devices)
    assert examine()["tensors"] == says
