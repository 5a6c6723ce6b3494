"""The decode ladder, one rung per chapter: python bench/decode.py

    eager             the plain Transformer with its concatenating cache
    one graph         the flat step over the paged cache, plain attention, in one graph
    compiled          the step's pieces compiled, no graph
    compiled + graph  the same, captured whole
    piecewise         compiled and fused, pieces captured, attention run between them
    fused + graph     the same, captured whole
    final             the kernels of mini_llm/kernels, one graph per batch size
    engine            LLM.step() around the final rung: scheduling, inputs, sampling, tokens back on the host

A step is one new token for each request of the batch. `ms` is the step alone, back to back; `with inputs` adds
what an engine does for each step before it: choose the mode, fill the buffers. `GPU waits` is the share of `ms`
in which no kernel runs; `bandwidth` is what a step has to read (weights once, keys and values once) in that
time, as a share of the speed of a large copy; `x floor` is `ms` over the time to read all weights once at that
speed. `error` is the largest difference of logits to the eager rung's, over the largest logit.
"""

import argparse
import time
from dataclasses import dataclass

import torch
from measure import (
    SHAPES,
    a_model,
    about_this_run,
    add_common,
    attempt,
    copy_speed,
    dtype_on,
    finish,
    keep,
    print_table,
    profile_step,
    time_ms,
    weight_bytes,
)

from mini_llm import KVCache, PagedKVCache, build_batch
from mini_llm.attention import attention_backend, forward_context
from mini_llm.batch import StepBuffers
from mini_llm.dispatch import CudagraphDispatcher, CUDAGraphMode
from mini_llm.engine import LLM
from mini_llm.executor import PIECEWISE, Executor
from mini_llm.kernels import why_no_triton
from mini_llm.kernels.decode_step import FinalStep
from mini_llm.sampling import SamplingParams

BLOCK = 16
ENGINE_TOKENS = 250  # a request of the engine's rung; measuring takes fewer
RUNGS = ["eager", "one graph", "compiled", "compiled + graph", "piecewise", "fused + graph", "final", "engine"]
COMPILED = ["compiled", "compiled + graph", "piecewise", "fused + graph"]  # last, since these take longest to start
HEADINGS = {
    "batch": "batch", "context": "context", "rung": "rung", "ms": "ms", "run_ms": "with inputs", "kernels": "kernels",
    "replays": "replays", "gpu_waits": "GPU waits", "bandwidth": "bandwidth", "x_floor": "x floor", "error": "error",
}  # fmt: skip


@dataclass
class Rung:
    """One way to run a decode step: `step()` alone, and `run()` with all that an engine does before it."""

    step: object
    run: object
    replays: int | None  # graph replays per step


class Ladder:
    """Model, cache and buffers that all rungs share, and the rungs made of them when first asked for."""

    def __init__(self, name: str, device, batches, contexts):
        self.device, self.cfg = torch.device(device), SHAPES[name]
        self.batches, self.top = sorted(batches), max(batches)
        self.model = a_model(name, device)
        # each batch size at each context has blocks of its own, since every rung writes its new keys among them
        self.first_block, blocks = {}, 1
        for context in contexts:
            for size in self.batches:
                self.first_block[size, context] = blocks
                blocks += size * self.width(context)
        heads, layers = self.cfg.num_key_value_heads, self.cfg.num_hidden_layers
        self.kv = PagedKVCache(layers, blocks, BLOCK, heads, self.cfg.hd, dtype_on(device), device)
        for part in (*self.kv.k, *self.kv.v):
            part.normal_()
        self.longest = max(contexts) + BLOCK
        self.steps, self.executors = {}, {}

    @staticmethod
    def width(context: int) -> int:
        return -(-(context + 1) // BLOCK)

    def batch(self, size: int, context: int):
        """`size` requests with `context` tokens in the cache, and one more to come for each."""
        draw = torch.Generator().manual_seed(size + context)
        shuffled = torch.randperm(size * self.width(context), generator=draw)
        blocks = (self.first_block[size, context] + shuffled).view(size, -1).tolist()
        tokens = torch.randint(self.cfg.vocab_size, (size,), generator=draw).tolist()
        return build_batch([([t], context, table, True) for t, table in zip(tokens, blocks, strict=True)], BLOCK)

    def rung(self, name: str, size: int, context: int) -> Rung:
        batch = self.batch(size, context)
        if name == "eager":
            return self.eager(batch, context)
        if name == "engine":
            return self.engine(size, context)
        executor = self.executor(name, context)

        def run():
            return executor.run(batch)

        run()
        inputs = executor.buffers.set(batch)
        if executor.dispatcher.mode is CUDAGraphMode.NONE:

            def step():
                with forward_context(executor.kv, executor.backend, inputs):
                    return executor.step(inputs)

            return Rung(torch.no_grad()(step), run, 0)
        if executor.pieces is not None:
            pieces = executor.pieces.captured[size]

            def step():
                with forward_context(executor.kv, executor.backend, inputs):
                    return executor.step.head(pieces.replay()[executor.step.result][inputs.logits_indices])

            return Rung(torch.no_grad()(step), run, sum(not piece.splits for piece in executor.step.pieces))
        runner = executor.full[True]
        graph = runner.buckets[size].graph
        return Rung(lambda: (graph.replay(), runner.output[:size])[1], run, 1)

    def eager(self, batch, context: int) -> Rung:
        ids = batch.input_ids[:, None].to(self.device)
        past = KVCache(self.cfg.num_hidden_layers)
        table = torch.tensor(batch.block_tables, device=self.device)
        for layer in range(self.cfg.num_hidden_layers):
            both = (part[layer][table].flatten(1, 2)[:, :context].transpose(1, 2) for part in (self.kv.k, self.kv.v))
            past.k[layer], past.v[layer] = both

        def step():
            cache = KVCache(self.cfg.num_hidden_layers)  # it grows, and every step here is the same one
            cache.k, cache.v = list(past.k), list(past.v)
            return self.model(ids, cache)[:, -1]

        step = torch.no_grad()(step)
        return Rung(step, step, 0)

    def engine(self, size: int, context: int) -> Rung:
        """A whole engine in the middle of its answers. Its context grows by what is measured."""
        longest = context + ENGINE_TOKENS
        llm = LLM(
            self.model, cudagraph_mode="FULL_DECODE_ONLY", compile=False, decode_kernels=True, capture_sizes=[size],
            max_num_seqs=size, max_model_len=longest, block_size=BLOCK, num_blocks=1 + size * self.width(longest),
        )  # fmt: skip
        for request in range(size):
            prompt = [(request + i) % self.cfg.vocab_size for i in range(context - 1)]
            llm.add(prompt, SamplingParams(max_new_tokens=ENGINE_TOKENS, ignore_eos=True))
        while any(not request.new_tokens for request in (*llm.scheduler.waiting, *llm.scheduler.running)):
            llm.step()

        def step():
            if len(llm.step()) < size:
                raise RuntimeError("the engine ran out of requests to measure")

        return Rung(step, step, 1)

    def executor(self, name: str, context: int) -> Executor:
        if (name, context) not in self.executors:
            self.executors = {key: each for key, each in self.executors.items() if key[0] == name}  # one rung's at most
            self.executors[name, context] = self.new_executor(name, context)
        return self.executors[name, context]

    def new_executor(self, name: str, context: int) -> Executor:
        mode = {"compiled": CUDAGraphMode.NONE, "piecewise": PIECEWISE}.get(name, CUDAGraphMode.FULL_DECODE_ONLY)
        with_kernels = name in ("piecewise", "fused + graph", "final") and not why_no_triton(self.device)
        backend = attention_backend("triton" if with_kernels else "sdpa", self.device)
        step = decode_step = None
        if name == "final":
            decode_step = self.made("final", lambda: FinalStep(self.model, self.kv, self.top, self.longest))
        elif name != "one graph":
            fused = name in ("piecewise", "fused + graph")
            step = self.made(f"compiled, fused {fused}", lambda: self.compiled(fused))
        # tables as wide as the context: in a graph, plain attention pays for all of a table
        buffers = StepBuffers(self.top, self.top, self.width(context), self.device)
        dispatcher = CudagraphDispatcher(mode, self.batches, self.top)
        executor = Executor(self.model, backend, buffers, dispatcher, step, decode_step)
        executor.use_cache(self.kv)
        executor.capture()
        return executor

    def made(self, name: str, make):
        """What is made once for all contexts."""
        if name not in self.steps:
            start = time.perf_counter()
            self.steps[name] = make()
            print(f"  {name}: {time.perf_counter() - start:.1f} s", flush=True)
        return self.steps[name]

    def compiled(self, fusions: bool):
        from mini_llm.fusion import compile_step

        return compile_step(self.model, self.kv, self.longest, fusions=fusions)

    def bytes_read(self, size: int, context: int) -> int:
        """What any step has to read: all weights once, and the keys and values of all requests."""
        return weight_bytes(self.model) + size * context * self.cfg.kv_numbers_per_token() * self.kv.k[0].itemsize


def measure(ladder: Ladder, name: str, size: int, context: int, copy: float, expected: dict) -> dict:
    rung = ladder.rung(name, size, context)
    error = None
    if name != "engine":
        logits = rung.step().float().clone()
        expected.setdefault((size, context), logits)  # the first rung's
        theirs = expected[size, context]
        error = ((logits - theirs).abs().max() / theirs.abs().max()).item()
        if not error < 0.1:
            raise AssertionError(f"logits differ by {error:.3f} of the largest from the first rung's")
    ms = time_ms(rung.step, ladder.device, budget_ms=300.0 if name != "engine" else 50.0)
    found = profile_step(rung.step, ladder.device)
    busy = found["busy_ms"]
    return {
        "batch": size, "context": context, "rung": name, "ms": ms,
        "run_ms": ms if rung.run is rung.step else time_ms(rung.run, ladder.device),
        "kernels": found["kernels"], "replays": rung.replays, "busy_ms": busy,
        "gpu_waits": None if busy is None else max(0.0, 1 - busy / ms),
        "bandwidth": ladder.bytes_read(size, context) / copy / ms,
        "x_floor": ms * copy / weight_bytes(ladder.model), "error": error,
    }  # fmt: skip


def main(argv: list[str] | None = None) -> None:
    started = time.time()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_common(parser)
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 4, 32, 128])
    parser.add_argument("--contexts", type=int, nargs="+", default=[64, 1024])
    parser.add_argument("--rungs", nargs="+", choices=RUNGS, default=RUNGS)
    parser.add_argument("--peers", action="store_true", help="transformers too, batch 1, the first context")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="start nothing new after so long")
    arguments = parser.parse_args(argv)
    torch.manual_seed(0)
    deadline, device = started + arguments.seconds, arguments.device
    about = about_this_run(device)
    copy = copy_speed(device)
    ladder = Ladder(arguments.config, device, arguments.batches, arguments.contexts)
    floor = weight_bytes(ladder.model) / copy
    print(f"{about['device']}: copy {copy / 1e9:.2f} TB/s, floor {floor:.4f} ms: all weights once", flush=True)

    rows, failures, expected = [], [], {}
    result = {
        "bench": "decode", "config": arguments.config, **about, "copy_bytes_per_ms": copy, "floor_ms": floor,
        "rows": rows, "peers": [], "failures": failures,
    }  # fmt: skip
    if arguments.peers:
        from peers import peers

        result["peers"] = peers(arguments.config, device, [1], arguments.contexts[:1], 64, failures, deadline)
    cells = [(context, size) for context in arguments.contexts for size in arguments.batches]
    for name in sorted(arguments.rungs, key=lambda name: (name in COMPILED, RUNGS.index(name))):
        for context, size in cells:
            what = f"{name}, batch {size}, context {context}"
            if time.time() > deadline:
                failures.append(f"{what}: no time left")
                continue

            def measured(name=name, size=size, context=context):
                return measure(ladder, name, size, context, copy, expected)

            row = attempt(what, measured, failures)
            if row:
                rows.append(row)
                summary = f"{row['ms']:.4f} ms, {row['kernels']} kernels, {row['x_floor']:.2f} x floor"
                print(f"  {what}: {summary}", flush=True)
            keep(result, arguments)  # whatever ends this run early, what it measured is there
    final = {(row["batch"], row["context"]): row["ms"] for row in rows if row["rung"] == "final"}
    for row in result["peers"]:
        ours = final.get((row["batch"], row["context"]))
        row["times_final"] = row["ms"] / ours if ours else None

    order = {name: place for place, name in enumerate(RUNGS)}
    rows.sort(key=lambda row: (row["context"], row["batch"], order[row["rung"]]))
    print_table(rows, HEADINGS)
    if result["peers"]:
        print_table(result["peers"], {"peer": "", "ms": "ms per token", "times_final": "times our final step"})
    finish(result | {"seconds": round(time.time() - started)}, arguments)


if __name__ == "__main__":
    main()
