"""The runner over buckets: every check of bucket_checks.py, and what it shows while it captures."""

import logging

import pytest
import torch
from bucket_checks import CHECKS, toy

from mini_llm.bucket_runner import memory_left, with_progress

GPUS = [pytest.param("cuda", marks=pytest.mark.gpu)] if torch.cuda.is_available() else []


@pytest.mark.parametrize("device", ["cpu", *GPUS])
@pytest.mark.parametrize("check", CHECKS)
def test_runner(check, device):
    CHECKS[check](device)


def test_the_log_says_how_long_it_took_and_what_is_held(caplog, capsys):
    with caplog.at_level(logging.INFO):
        toy("cpu", sizes=[1, 2, 4])
    assert "captured graphs of 3 sizes, 1 to 4, in 0." in caplog.text and "GiB" in caplog.text
    assert capsys.readouterr() == ("", "")  # no bar unless it is asked for


def test_the_progress_bar(capsys):
    t = toy("cpu", sizes=[1, 2, 4], captured=False)
    t.runner.capture(progress=True)
    shown = capsys.readouterr().err
    assert "capturing" in shown and "GiB left" in shown
    assert shown.index("size 4, ") < shown.index("size 1, ")
    assert "3/3" in shown.splitlines()[-1]


def test_a_system_that_does_not_tell_its_memory(monkeypatch, capsys):
    def unknown(name):
        raise ValueError("unrecognized configuration name")

    monkeypatch.setattr("os.sysconf", unknown)
    assert memory_left(torch.device("cpu")) is None
    assert list(with_progress([8, 4], torch.device("cpu"), show=True)) == [8, 4]
    shown = capsys.readouterr().err
    assert "size 8" in shown and "GiB" not in shown


def test_no_sizes_is_a_runner_that_never_uses_a_graph():
    t = toy("cpu", sizes=[])
    assert t.runner.buckets == {} and t.runner.pool is None
