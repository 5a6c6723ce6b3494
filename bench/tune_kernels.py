"""Check, tune and time the kernels of the final rung on this GPU: python bench/tune_kernels.py [STAGE ...]

Stages, all of them by default: `check` compares the whole step with the plain model; `products` times tilings
of each product alone, and `step` improves the best of them within the whole step; `attention` times cuts of
attention; `table` times the whole step for the course's batches and contexts. What is found belongs into
mini_llm/kernels/tunings.py, by hand.
Prints tables and, last, one JSON line; --out FILE keeps that line.
"""

import argparse
import json
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from mini_llm import KVCache, Transformer  # noqa: E402
from mini_llm.batch import StepInputs  # noqa: E402
from mini_llm.config import QWEN3_0_6B as CFG  # noqa: E402
from mini_llm.kernels import tunings  # noqa: E402
from mini_llm.kernels.decode_attention import MAX_SPLITS  # noqa: E402
from mini_llm.kernels.decode_step import FinalStep  # noqa: E402
from mini_llm.kernels.products import Tiling, product  # noqa: E402
from mini_llm.paged import PagedKVCache  # noqa: E402

DEVICE, DTYPE, BLOCK = torch.device("cuda"), torch.bfloat16, 16
ROLES = {  # outputs, K, what surrounds the product
    "qkv": ((CFG.num_attention_heads + 2 * CFG.num_key_value_heads) * CFG.hd, CFG.hidden_size, "norm"),
    "o": (CFG.hidden_size, CFG.num_attention_heads * CFG.hd, "add"),
    "gate_up": (CFG.intermediate_size, CFG.hidden_size, "gated"),
    "down": (CFG.hidden_size, CFG.intermediate_size, "add"),
    "head": (CFG.vocab_size, CFG.hidden_size, "norm"),
}


class Scene:
    """`batch` requests with `context` tokens in the cache, and one more to come for each."""

    def __init__(self, batch: int, context: int):
        per_request = -(-(context + 1) // BLOCK)
        blocks = batch * per_request + 1
        heads, layers = CFG.num_key_value_heads, CFG.num_hidden_layers
        self.kv = PagedKVCache(layers, blocks, BLOCK, heads, CFG.hd, DTYPE, DEVICE)
        self.table = 1 + torch.randperm(blocks - 1, device=DEVICE).view(batch, per_request)
        slots = self.table[:, context // BLOCK] * BLOCK + context % BLOCK
        lengths = torch.full((batch,), context + 1, device=DEVICE)
        ids = torch.randint(CFG.vocab_size, (batch,), device=DEVICE)
        rows = torch.arange(batch + 1, device=DEVICE)
        self.inputs = StepInputs(ids, lengths - 1, slots, lengths, rows, self.table, rows[:-1])

    def fill(self, cache: KVCache | None = None) -> "Scene":
        """Random keys and values, or those of `cache`."""
        for layer in range(CFG.num_hidden_layers):
            for part, plain in ((self.kv.k, cache and cache.k), (self.kv.v, cache and cache.v)):
                part[layer].normal_()
                if cache:
                    length = plain[layer].shape[2]
                    at = torch.arange(length, device=DEVICE)
                    slots = self.table[:, at // BLOCK] * BLOCK + at % BLOCK
                    part[layer].flatten(0, 1)[slots] = plain[layer].transpose(1, 2)
        return self


def captured(fn):
    """A graph of fn(), which has run before, and fn's result, where the graph's goes."""
    graph = torch.cuda.CUDAGraph()
    fn()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        result = fn()
    return graph, result


def time_ms(fn, budget_ms: float = 25.0) -> float:
    """Median time of fn() as a graph, replays back to back."""
    graph, _ = captured(fn)
    return median_ms(graph.replay, budget_ms)


def median_ms(run, budget_ms: float) -> float:
    """Median over five stretches of calls to run(), by the GPU's clock."""
    _events(run, 1)
    calls = max(3, min(50, int(budget_ms / 5 / _events(run, 3))))
    return statistics.median(_events(run, calls) for _ in range(5))


def _events(run, calls: int) -> float:
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(calls):
        run()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / calls


def copy_speed() -> float:
    """Bytes per ms of a large device-to-device copy, read and written. Not in a graph: there it is slower."""
    a, b = (torch.empty(4 << 30, dtype=torch.uint8, device=DEVICE).random_() for _ in range(2))
    return 2 * a.numel() / median_ms(lambda: b.copy_(a), 100.0)


def compile_all(calls) -> None:
    """Compile the kernels of `calls`, many at a time; whatever fails to compile fails again when it is run."""
    try:
        from triton.runtime._async_compile import AsyncCompileMode
        from triton.runtime.jit import JITFunction
    except ImportError:
        return
    run = JITFunction.run
    JITFunction.run = lambda self, *args, grid, warmup, **kwargs: run(self, *args, grid=grid, warmup=True, **kwargs)
    try:
        with ThreadPoolExecutor(16) as threads, AsyncCompileMode(threads, ignore_errors=True):
            for call in calls:
                call()
    finally:
        JITFunction.run = run


def attempt(what: str, fn, *args):
    """fn(*args), or None after a line that says what failed: one bad variant must not end the run."""
    try:
        return fn(*args)
    except Exception as error:
        print(f"  {what}: {type(error).__name__}: {str(error).splitlines()[0][:150] if str(error) else ''}", flush=True)
        return None


def check(model, step, found) -> None:
    """Errors against the same weights in fp32, ours beside the plain bf16 model's; then early launch and graphs."""
    exact = Transformer.random(CFG, torch.float32, DEVICE)
    exact.load_state_dict(model.state_dict())
    found["check"] = []
    for batch, context in ((1, 64), (3, 300), (4, 64), (16, 300), (24, 64), (48, 300)):
        row = attempt(f"check {batch}", check_one, model, exact, step, batch, context)
        if row:
            found["check"].append(row)
            print("check", row, flush=True)


def check_one(model, exact, step, batch, context):
    scene = Scene(batch, context)
    prompt = torch.randint(CFG.vocab_size, (batch, context), device=DEVICE)
    caches = [KVCache(CFG.num_hidden_layers) for _ in range(2)]
    with torch.no_grad():
        model(prompt, caches[0]), exact(prompt, caches[1])
        step.kv = scene.fill(caches[0]).kv
        plain, reference = (
            each(scene.inputs.input_ids[:, None], cache)[:, 0]
            for each, cache in zip((model, exact), caches, strict=True)
        )
    step.logits.fill_(float("nan"))
    ours = step(scene.inputs).clone()
    row = {"batch": batch, "context": context}
    for name, logits in (("error", ours), ("plain", plain)):
        row[name] = ((logits.double() - reference.double()).norm() / reference.double().norm()).item()
    margin = reference.topk(2).values
    clear = margin[:, 0] - margin[:, 1] > 4 * (plain - reference).abs().amax(1)
    row["clear rows"], row["same token"] = int(clear.sum()), int((ours.argmax(-1) == reference.argmax(-1))[clear].sum())

    # Early launch and graphs change when things run, never what comes out. New inputs before each replay.
    graph, logits = captured(lambda: step(scene.inputs))
    pdl, different = step.pdl, 0
    for _ in range(20):
        scene.inputs.input_ids.random_(CFG.vocab_size)
        graph.replay()
        replayed = logits.clone()
        step.pdl = False
        different += int(not torch.equal(step(scene.inputs), replayed))
        step.pdl = pdl
    row["replays that differ"] = different
    return row


def candidates(role: str) -> list[Tiling]:
    """At most 192 weights per thread, and enough programs for all of the GPU."""
    N, K, kind = ROLES[role]
    found = [Tiling(n, warps) for n in (1, 2, 4, 8, 16) for warps in (1, 2, 4, 8)]
    per_thread = {t: t.block_n * (2 if kind == "gated" else 1) * K / 32 / t.num_warps for t in found}
    return [t for t in found if 8 <= per_thread[t] <= 192 and N / t.block_n >= 128]


def tune_products(step, found, sizes, deadline) -> None:
    """µs per launch of every candidate: a graph of all layers' products, each layer with its own weights."""
    found["products"] = {}
    for M in sizes:
        calls = {}
        for role, (N, K, kind) in ROLES.items():
            x = torch.randn(M, K, device=DEVICE, dtype=DTYPE)
            out = torch.zeros(M, N, device=DEVICE, dtype=torch.float32 if role == "head" else DTYPE)
            weights = [step.head] if role == "head" else [getattr(layer, role) for layer in step.layers]
            around = {"residual": out} if kind == "add" else {"gain": step.gain, "gated": kind == "gated"}
            for tiling in candidates(role):
                calls[role, tiling] = (x, weights, out, around)
        compile_all(
            (lambda c=c, t=t: product(c[0], c[1][0], c[2], tiling=t, pdl=step.pdl, **c[3]))
            for (_, t), c in calls.items()
        )
        for (role, tiling), (x, weights, out, around) in calls.items():
            if time.time() > deadline:
                print("products: out of time", flush=True)
                return

            def launches(x=x, weights=weights, out=out, around=around, tiling=tiling):
                for weight in weights:
                    product(x, weight, out, tiling=tiling, pdl=step.pdl, **around)

            ms = attempt(f"{role} {tiling}", time_ms, launches, 8.0)
            if ms:
                found["products"].setdefault(f"{role} {M}", []).append((1000 * ms / len(weights), vars(tiling)))
        for role in ROLES:
            best = sorted(found["products"].get(f"{role} {M}", []), key=lambda each: each[0])
            found["products"][f"{role} {M}"] = best
            print(f"{role} {M}:", *(f"{us:.2f} {short(Tiling(**t))}" for us, t in best[:6]), sep="  ", flush=True)


def short(tiling: Tiling) -> str:
    return f"{tiling.block_n}/{tiling.num_warps}w"


def choice(tilings: dict[str, Tiling]):
    by_shape = {ROLES[role][:2]: tiling for role, tiling in tilings.items()}
    return lambda M, N, K: by_shape[N, K]


def tune_step(step, found, sizes, deadline) -> None:
    """Change one role's tiling at a time, and keep what makes the whole step faster, at context 64."""
    found["step"] = {}
    for M in sizes:
        scene = Scene(M, 64).fill()
        best = {role: found["products"].get(f"{role} {M}", [])[:5] for role in ROLES}
        if not all(best.values()):
            continue
        step.kv, step.fused_rows = scene.kv, M
        tilings = {role: Tiling(**rows[0][1]) for role, rows in best.items()}

        def step_ms(tilings, scene=scene):
            by_shape = {ROLES[role][:2]: tiling for role, tiling in tilings.items()}
            step.tiling_for = lambda M, N, K: by_shape[N, K]
            return time_ms(lambda: step(scene.inputs), 20.0)

        ms = attempt("step", step_ms, tilings) or 1e9
        print(f"step {M}: {ms:.4f} ms with each product's fastest", flush=True)
        for role in ROLES:
            for _, tiling in best[role][1:]:
                if time.time() > deadline:
                    break
                trial = tilings | {role: Tiling(**tiling)}
                now = attempt(f"step {role}", step_ms, trial)
                if now and now < ms * 0.998:
                    ms, tilings = now, trial
        found["step"][M] = {"ms": ms, "tilings": {role: vars(tiling) for role, tiling in tilings.items()}}
        print(f"step {M}: {ms:.4f} ms", {role: short(tiling) for role, tiling in tilings.items()}, flush=True)
    step.tiling_for, step.fused_rows = tunings.tiling_for, tunings.FUSED_ROWS


def tune_attention(step, found, deadline) -> None:
    """Time of the whole step with attention cut in other ways, beside what tunings.py says."""
    found["attention"] = {}
    for batch, context in ((1, 64), (1, 1024), (2, 1024), (4, 1024), (16, 1024), (32, 64), (128, 64), (128, 1024)):
        scene = attempt("scene", lambda b=batch, c=context: Scene(b, c).fill())
        if scene is None or time.time() > deadline:
            continue
        step.kv = scene.kv
        ours = tunings.attention_for(batch * CFG.num_key_value_heads)
        splits = sorted({max(1, min(MAX_SPLITS, int(ours["splits"] * factor))) for factor in (0.25, 0.5, 1, 2)})
        cuts = [(n, keys, warps) for n in splits for keys, warps in ((32, 4), (64, 4), (64, 8), (128, 4), (128, 8))]
        rows = []

        def run(cut, scene=scene):
            step.attention_for = lambda kv_heads: dict(zip(("splits", "keys", "num_warps"), cut, strict=True))
            return step(scene.inputs)

        compile_all(lambda cut=cut: run(cut) for cut in cuts)
        for cut in cuts:
            ms = attempt(f"attention {batch} {context} {cut}", time_ms, lambda cut=cut: run(cut), 15.0)
            rows.append((ms or 1e9, cut))
        found["attention"][f"{batch} {context}"] = sorted(rows)
        now = next((ms for ms, cut in rows if cut == tuple(ours.values())), None)
        print(f"attention {batch} {context}: ours {now}, best", *(f"{ms:.4f} {cut}" for ms, cut in sorted(rows)[:5]))
        step.kv = None
    step.attention_for = tunings.attention_for


def table(step, found, floor_ms, deadline) -> None:
    """The course's batches and contexts; beside them the same without early launch, and all by cuBLAS."""
    found["table"] = []
    cases = [(1, 64), (1, 1024), (128, 64), (4, 64), (4, 1024), (16, 64), (32, 64), (32, 1024), (128, 1024)]
    for batch, context in cases:
        if time.time() > deadline:
            print("table: out of time", flush=True)
            return
        step.kv = None  # the last scene's memory
        scene = attempt(f"scene {batch} {context}", lambda b=batch, c=context: Scene(b, c).fill())
        if scene is None:
            continue
        step.kv = scene.kv
        row = {"batch": batch, "context": context}
        for name, settings in {"ms": {}, "no early launch": {"pdl": False}, "cuBLAS": {"fused_rows": 0}}.items():
            before = {key: getattr(step, key) for key in settings}
            vars(step).update(settings)
            row[name] = attempt(f"table {batch} {context} {name}", time_ms, lambda s=scene: step(s.inputs), 50.0)
            vars(step).update(before)
        row["x floor"] = row["ms"] and row["ms"] / floor_ms
        found["table"].append(row)
        print("table", {k: round(v, 4) if v else v for k, v in row.items()}, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("stages", nargs="*", default=["check", "products", "step", "attention", "table"])
    parser.add_argument("--sizes", type=int, nargs="+", default=[1, 2, 4], help="batches to tune for")
    parser.add_argument("--seconds", type=float, default=240, help="start nothing new after so long")
    parser.add_argument("--out", help="a file for the JSON line")
    arguments = parser.parse_args()
    started = time.time()
    deadline = started + arguments.seconds
    torch.manual_seed(0)
    model = Transformer.random(CFG, DTYPE, DEVICE)
    step = FinalStep(model, Scene(1, 64).kv, max_batch=128, max_positions=4096)
    bytes_per_ms = copy_speed()
    floor_ms = sum(weight.nbytes for weight in model.parameters()) / bytes_per_ms
    found = {
        "device": torch.cuda.get_device_name(), "torch": torch.__version__, "command": " ".join(sys.argv),
        "date": time.strftime("%Y-%m-%d"), "copy TB/s": bytes_per_ms / 1e9, "floor ms": floor_ms,
    }  # fmt: skip
    print(found, f"ready after {time.time() - started:.0f} s", flush=True)
    stages = {
        "check": lambda: check(model, step, found),
        "products": lambda: tune_products(step, found, arguments.sizes, deadline),
        "step": lambda: tune_step(step, found, arguments.sizes, deadline),
        "attention": lambda: tune_attention(step, found, deadline),
        "table": lambda: table(step, found, floor_ms, deadline + 30),
    }
    for stage in arguments.stages:
        attempt(stage, stages[stage])
        print(f"[{stage} done after {time.time() - started:.0f} s]", flush=True)
    line = json.dumps(found)
    if arguments.out:
        Path(arguments.out).write_text(line + "\n")
    print(line)


if __name__ == "__main__":
    main()
