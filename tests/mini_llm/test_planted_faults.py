"""Every planted fault is noticed by its check, and nothing is noticed where none is planted."""

import planted_engine  # noqa: F401  (adds to FAULTS)
import planted_rules  # noqa: F401  (adds to FAULTS)
import planted_start  # noqa: F401  (adds to FAULTS)
import pytest
import test_graphs
import torch
from planted_faults import FAULTS, FAULTS_ON_GPU, drop_graphs
from test_graphs import cuda  # noqa: F401

REPORTS = """
    nano-vllm 216, nano-vllm 190, nano-vllm 105, vllm 43810, vllm 13418, vllm 33638, vllm 54933, vllm 40734,
    vllm 16049, vllm 7999, TensorRT-LLM 10688, vllm 53366, vllm 16150, vllm 49547, vllm 30072, vllm 57475, vllm 19106,
    torchtitan 3685, SageAttention 371, pytorch 193402, pytorch 161037, pytorch 78549, pytorch 84614, pytorch 170604,
    transformers 30351, vllm 55238
"""
CPU = torch.device("cpu")


GPU = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device: a CPU has no streams"),
]
CASES = [(report, CPU) for report in FAULTS]
CASES += [pytest.param(report, torch.device("cuda"), marks=GPU) for report in FAULTS_ON_GPU]


@pytest.mark.parametrize(("report", "device"), CASES)
def test_a_planted_fault_is_noticed(report, device, monkeypatch):
    torch.manual_seed(0)
    fault = (FAULTS | FAULTS_ON_GPU)[report]
    fault.plant(monkeypatch)
    with pytest.raises(fault.raises):
        fault.check(device)


def test_a_pool_that_drops_its_graphs_is_noticed(cuda, monkeypatch):  # noqa: F811
    """pytorch 193402, with a stand-in for CUDA: on a real GPU the fault may end the whole process."""
    drop_graphs(monkeypatch)
    with pytest.raises(AssertionError):
        test_graphs.test_no_graph_is_destroyed_before_the_last_of_its_pool(cuda)


# The other checks are tests of their own, so they run without a fault anyway; a lambda only calls such a test.
OWN_CHECKS = {f.check.__name__: f.check for f in FAULTS.values() if f.check.__module__.startswith("planted_")}
OWN_CHECKS.pop("<lambda>", None)


@pytest.mark.parametrize("check", OWN_CHECKS.values(), ids=list(OWN_CHECKS))
def test_without_a_fault_its_check_passes(check):
    torch.manual_seed(0)
    check(CPU)


def test_every_report_is_planted():
    reports = {report.strip() for report in REPORTS.split(",")}
    planted = {name.split(":")[0] for name in (*FAULTS, *FAULTS_ON_GPU, drop_graphs.__doc__)} & reports
    assert planted == reports
