"""What one decode step launches: the numbers that the course starts from."""

import json
import os
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from mini_llm import Config, KVCache, Transformer, count_operators, launches
from mini_llm.config import QWEN3_0_6B

ROOT = Path(__file__).resolve().parents[2]

HISTOGRAM = dict(
    mul=368, to=342, add=225, linear=197, transpose=140, pow=114, cat=113, mean=113, rsqrt=113, view=84,
    chunk=56, neg=56, repeat_interleave=56, matmul=56, div=29,
    reshape=28, ones=28, tril=28, bitwise_not=28, masked_fill=28, softmax=28, silu=28, arange=2, unsqueeze=2,
    embedding=1, reciprocal=1, cos=1, sin=1, empty=1, lift_fresh=1, detach_=1,
)  # fmt: skip


@pytest.fixture(scope="module")
def qwen():
    """Random weights of the Qwen3-0.6B shape (2.4 GB) and a cache after a prefill of 64 tokens."""
    model = Transformer.random(QWEN3_0_6B)
    cache = KVCache(model.cfg.num_hidden_layers)
    with torch.no_grad():
        model(torch.randint(0, 1000, (1, 64)), cache)
    return model, cache


def test_a_decode_step_of_qwen3(qwen):
    model, cache = qwen
    assert sum(weight.numel() for weight in model.parameters()) == 596_049_920
    count = count_operators(lambda: model(torch.tensor([[5]]), cache))
    assert count.total == 2269
    assert count.launching == 1617
    assert {name.removeprefix("aten::"): calls for name, calls in count.histogram.items()} == HISTOGRAM


def test_the_same_numbers_by_the_profiler_alone(qwen):
    """Without count_operators, as a reader's own script would count."""
    model, cache = qwen
    with torch.no_grad(), profile(activities=[ProfilerActivity.CPU]) as profiler:
        model(torch.tensor([[5]]), cache)
    names = [e.name for e in profiler.events() if e.cpu_parent is None and e.name.startswith("aten::")]
    assert len(names) == 2269
    assert Counter(names).most_common(1) == [("aten::mul", 368)]


def test_the_step_alone_is_four_calls_less_and_a_longer_context_changes_nothing():
    model = Transformer.random(Config(101, 48, 80, 2, 6, 2, qk_norm=True))
    counts = []
    for context in (1, 7, 30):
        cache = KVCache(2)
        model(torch.zeros(1, context, dtype=torch.long), cache)
        counts.append(count_operators(model, torch.tensor([[5]]), cache))
    assert counts[0] == counts[1] == counts[2]
    whole = count_operators(lambda: model(torch.tensor([[5]]), cache))
    assert whole.histogram - counts[0].histogram == Counter(
        {"aten::empty": 1, "aten::lift_fresh": 1, "aten::detach_": 1, "aten::to": 1}
    )


def test_count_takes_arguments_and_counts_top_level_calls_only():
    count = count_operators(torch.nn.functional.linear, torch.ones(2, 3), weight=torch.ones(4, 3))
    assert count.histogram == Counter({"aten::linear": 1})  # and not the t and mm inside it
    assert (count.total, count.launching) == (1, 1)
    view = count_operators(torch.ones(2, 3).view, 6)
    assert (view.total, view.launching) == (1, 0)


def test_count_keeps_no_gradients_and_lets_errors_through():
    weight = torch.ones(3, requires_grad=True)
    seen = []
    count_operators(lambda: seen.append((weight * 2).requires_grad))
    assert seen == [False]
    with pytest.raises(ZeroDivisionError):
        count_operators(lambda: 1 / 0)
    assert count_operators(lambda: weight * 2).total == 1, "the profiler was left in order"


def test_counting_writes_nothing_to_stderr_and_gives_it_back(capfd):
    count_operators(lambda: os.write(2, b"from the function\n"))
    os.write(2, b"after it\n")
    assert capfd.readouterr().err == "from the function\nafter it\n"


# --- what fusing would save -----------------------------------------------------------------------


def add_then_norm(x, residual, weight, eps=1e-6):
    """The residual addition and the norm after it, as one function for the compiler."""
    summed = x + residual
    scale = torch.rsqrt(summed.pow(2).mean(-1, keepdim=True) + eps)
    return weight * (summed * scale), summed


def inputs(rows):
    return torch.randn(rows, 1024), torch.randn(rows, 1024), torch.randn(1024)


def test_add_and_norm_are_seven_operators():
    assert count_operators(add_then_norm, *inputs(16)).total == 7


@pytest.mark.skipif(not any(map(shutil.which, ("c++", "g++", "clang++"))), reason="needs a C++ compiler")
def test_add_and_norm_compile_to_one_kernel():
    from torch._inductor.utils import run_and_get_code

    torch._dynamo.reset()
    given = inputs(16)
    result, code = run_and_get_code(torch.compile(add_then_norm), *given)
    assert set(re.findall(r"cpp_fused_\w+", code[0])) == {"cpp_fused_add_mean_mul_pow_rsqrt_0"}
    for ours, expected in zip(result, add_then_norm(*given), strict=True):
        assert bool((ours - expected).abs().max() <= 1e-5)


@pytest.mark.parametrize("dynamic, compilations", [(False, 6), (True, 2)])
def test_how_often_six_batch_sizes_compile(dynamic, compilations):
    # Dynamo decides when to compile anew; the backend, and so a C++ compiler, has no say in it
    from torch._dynamo.utils import counters

    torch._dynamo.reset()
    counters.clear()
    compiled = torch.compile(add_then_norm, dynamic=dynamic, backend="eager")
    for rows in (1, 2, 3, 5, 8, 13):
        compiled(*inputs(rows))
    assert counters["stats"]["unique_graphs"] == compilations


# --- what a step's time is made of ----------------------------------------------------------------


def recorded(rung):
    """A measured step of course/recorded, as `fit_times` takes it; batch 1, context 64."""
    found = json.loads((ROOT / "course" / "recorded" / "h200_decode.json").read_text())
    row = next(r for r in found["rows"] if (r["batch"], r["context"], r["rung"]) == (1, 64, rung))
    nbytes = round(row["bandwidth"] * found["copy_bytes_per_ms"] * row["ms"])
    launches = row["replays"] or row["kernels"]
    run = {"launches": launches, "kernels": row["kernels"], "bytes": nbytes, "ms": row["ms"]}
    return run | {"gpu_waits": row["gpu_waits"]}, found["copy_bytes_per_ms"]


def test_the_third_term_is_what_a_step_in_one_graph_is_made_of():
    rungs = ("eager", "one graph", "compiled + graph", "fused + graph")
    runs, bytes_per_ms = [recorded(rung)[0] for rung in rungs], recorded("eager")[1]
    launch_ms, kernel_ms = launches.fit_times(runs, bytes_per_ms)
    assert (round(launch_ms, 4), round(kernel_ms, 4)) == (0.0243, 0.0023)
    for run in runs:
        counts = run["launches"], run["kernels"], run["bytes"]
        assert abs(launches.step_time(*counts, launch_ms, kernel_ms, bytes_per_ms) / run["ms"] - 1) < 0.3
    graph = runs[1]
    without = launches.step_time(1, 0, graph["bytes"], launch_ms, kernel_ms, bytes_per_ms)
    assert round(graph["ms"] / without) == 18
    assert launches.bound_by(1, graph["kernels"], graph["bytes"], launch_ms, kernel_ms, bytes_per_ms) == "kernels"


def test_problem_131_quotes_what_was_recorded():
    text = (ROOT / "practice" / "problems" / "131_step_time" / "problem.md").read_text()
    for rung in ("eager", "one graph", "compiled + graph", "fused + graph"):
        run, bytes_per_ms = recorded(rung)
        numbers = [run["launches"], run["kernels"], f"{run['ms']:.3f}", f"{run['gpu_waits']:.3f}"]
        line = '"launches": {}, "kernels": {}, "bytes": nbytes, "ms": {}, "gpu_waits": {}'.format(*numbers)
        assert line in text
    assert f"nbytes, bytes_per_ms = {run['bytes']:_}, {round(bytes_per_ms):_}" in text


def test_savings_of_a_step_bound_by_launches_do_not_add():
    found = launches.savings(1000, 100, 10**9, 0.01, 0.001, 10**9)
    assert found == {"graph": 10 - 2, "fusion": 10 - 1.1, "both": 10 - 1.1}
