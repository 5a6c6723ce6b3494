"""What all benchmarks share: the shapes, the clock, the profiler, and how results are written down."""

import contextlib
import json
import os
import platform
import statistics
import subprocess
import sys
import time
import traceback
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from mini_llm import Config, Transformer, count_operators  # noqa: E402
from mini_llm.config import QWEN3_0_6B  # noqa: E402

SHAPES = {
    "qwen3-0.6b": QWEN3_0_6B,
    "tiny": Config(101, 48, 80, 2, 6, 2, qk_norm=True, tie_word_embeddings=True),
}


def add_common(parser) -> None:
    parser.add_argument("--config", choices=SHAPES, default="qwen3-0.6b", help="the model's shape; weights are random")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    add_keeping(parser)


def add_keeping(parser) -> None:
    parser.add_argument("--out", metavar="FILE", help="write the last line there too")
    parser.add_argument("--record", metavar="NAME", help="write it to course/recorded/NAME.json")


def a_model(name: str, device) -> Transformer:
    return Transformer.random(SHAPES[name], dtype_on(device), device)


def dtype_on(device) -> torch.dtype:
    return torch.bfloat16 if torch.device(device).type == "cuda" else torch.float32


def synchronize(device) -> None:
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize()


def time_ms(fn, device, budget_ms: float = 300.0) -> float:
    """Wall time of fn(), called back to back and waited for once: median of five rounds."""

    def round_of(calls: int) -> float:
        synchronize(device)
        start = time.perf_counter()
        for _ in range(calls):
            fn()
        synchronize(device)
        return 1000 * (time.perf_counter() - start) / calls

    round_of(2)
    calls = max(2, min(40, int(budget_ms / 5 / max(round_of(2), 1e-3))))
    return statistics.median(round_of(calls) for _ in range(5))


def profile_step(fn, device, steps: int = 3) -> dict:
    """`kernels` that one fn() runs on the GPU, and `busy_ms`: how long at least one of them was running.

    Copies and fills count as kernels: each is a node of a graph. On a CPU `kernels` counts operators.
    """
    if torch.device(device).type != "cuda":
        return {"kernels": count_operators(fn).launching, "busy_ms": None}
    from torch.profiler import ProfilerActivity, profile

    fn()
    synchronize(device)
    with profile(activities=[ProfilerActivity.CUDA], acc_events=True) as profiler:
        for _ in range(steps):
            fn()
        synchronize(device)
    spans = sorted(
        (event.time_range.start, event.time_range.end)
        for event in profiler.events()
        if event.device_type == torch.autograd.DeviceType.CUDA
    )
    busy, until = 0.0, float("-inf")
    for start, end in spans:  # kernels may overlap
        busy += max(0.0, end - max(start, until))
        until = max(until, end)
    return {"kernels": round(len(spans) / steps), "busy_ms": busy / 1000 / steps}


def copy_speed(device, nbytes: int = 2 << 30) -> float:
    """Bytes per ms of a large copy on the device: what was read plus what was written."""
    if torch.device(device).type != "cuda":
        nbytes = 64 << 20
    source = torch.empty(nbytes, dtype=torch.uint8, device=device).fill_(7)
    target = torch.empty_like(source)
    return 2 * nbytes / time_ms(lambda: target.copy_(source), device, budget_ms=100)


def weight_bytes(model) -> int:
    return sum(weight.nbytes for weight in model.parameters())


def attempt(what: str, fn, failures: list[str]):
    """fn(), or None and a line in `failures`: one broken rung must not lose the others."""
    try:
        return fn()
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(last.filename).name}:{last.lineno}"
        failures.append(f"{what}: {type(error).__name__}: {str(error)[:300]} ({place})")
        print(f"  failed: {failures[-1]}", flush=True)
        return None
    finally:
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def about_this_run(device) -> dict:
    """Where the numbers come from: device, driver, versions, date and command."""
    on_gpu = torch.device(device).type == "cuda"
    versions = {"python": platform.python_version(), "torch": torch.__version__, "cuda": torch.version.cuda}
    for package in ("triton", "transformers"):
        with contextlib.suppress(ImportError):
            versions[package] = __import__("importlib.metadata", fromlist=["version"]).version(package)
    return {
        "device": torch.cuda.get_device_name() if on_gpu else f"CPU ({platform.machine()}, {os.cpu_count()} cores)",
        "driver": _driver() if on_gpu else None,
        "versions": versions,
        "date": time.strftime("%Y-%m-%d"),
        "command": "python " + " ".join([os.path.relpath(sys.argv[0], ROOT), *sys.argv[1:]]),
    }


def _driver() -> str | None:
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(query, capture_output=True, text=True, timeout=20).stdout.split("\n")[0].strip() or None
    except (OSError, subprocess.TimeoutExpired):
        return None


def print_table(rows: list[dict], columns: dict[str, str]) -> None:
    """`columns`: a row's key -> its heading. What is missing is a dash."""

    def text(value) -> str:
        if value is None:
            return "-"
        return f"{value:.3f}" if isinstance(value, float) else str(value)

    cells = [list(columns.values())] + [[text(row.get(key)) for key in columns] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)))


def keep(result: dict, arguments) -> None:
    """Write the result where --out and --record say."""
    if arguments.out:
        Path(arguments.out).write_text(json.dumps(result) + "\n")
    if arguments.record:
        place = ROOT / "course" / "recorded" / f"{arguments.record}.json"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(result, indent=1) + "\n")


def finish(result: dict, arguments) -> None:
    """Keep the result, and print it as the last line."""
    keep(result, arguments)
    print(json.dumps(result), flush=True)
