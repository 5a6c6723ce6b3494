"""What a start costs, cold and warm, with the whole default ladder: python bench/startup.py

Each start is a process of its own. The cold one finds empty caches of compiled code, the warm one those that the
cold one left. An engine is made as `LLM(model)` makes it on a GPU: level O2, 256 requests, 8192 tokens, 51
PIECEWISE and 35 FULL sizes. Weights are random and count for nothing.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measure import a_model, about_this_run, add_common, finish, keep, print_table, synchronize

CACHES = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "MINI_LLM_CACHE")


def start_once(arguments) -> dict:
    """Make the engine here, answer one prompt, and say how long each part took."""
    from mini_llm import LLM, SamplingParams

    begun = time.perf_counter()
    model = a_model(arguments.config, arguments.device)
    synchronize(arguments.device)
    with_model = time.perf_counter()
    llm = LLM(
        model, level=arguments.level, max_num_seqs=arguments.max_num_seqs, capture_sizes=arguments.sizes,
        max_num_batched_tokens=arguments.max_num_batched_tokens, max_model_len=arguments.max_model_len,
    )  # fmt: skip
    ready = time.perf_counter()
    llm.generate([[1, 2, 3]], SamplingParams(max_new_tokens=4))
    keys = {mode.name.lower(): len(keys) for mode, keys in llm.executor.dispatcher.keys.items()}
    return {
        "start_s": ready - with_model, "compile_s": llm.compile_seconds, "capture_s": llm.executor.capture_seconds,
        "captured_gib": llm.executor.captured_bytes / 2**30, "reserved_gib": llm.reserved_bytes / 2**30,
        "first_answer_s": time.perf_counter() - ready, "model_s": with_model - begun, "sizes": keys,
        "mode": llm.mode.name,
    }  # fmt: skip


def in_a_process(arguments, caches: str) -> dict:
    """`start_once` in a fresh Python whose caches lie in that folder."""
    environment = os.environ | {name: str(Path(caches) / name.lower()) for name in CACHES}
    command = [sys.executable, __file__, "--one-start", "--config", arguments.config, "--device", arguments.device]
    command += ["--level", str(arguments.level), "--max-num-seqs", str(arguments.max_num_seqs)]
    command += ["--max-num-batched-tokens", str(arguments.max_num_batched_tokens)]
    command += ["--max-model-len", str(arguments.max_model_len)]
    if arguments.sizes:
        command += ["--sizes", *map(str, arguments.sizes)]
    begun = time.perf_counter()
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise RuntimeError(f"the start ended with status {done.returncode}; its error is above")
    return json.loads(done.stdout.splitlines()[-1]) | {"process_s": time.perf_counter() - begun}


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_common(parser)
    parser.add_argument("--level", type=int, default=2)
    parser.add_argument("--max-num-seqs", type=int, default=256)
    parser.add_argument("--max-num-batched-tokens", type=int, default=8192)
    parser.add_argument("--max-model-len", type=int, default=4096)
    parser.add_argument("--sizes", type=int, nargs="+", help="capture sizes; default: the default ladder")
    parser.add_argument("--one-start", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.one_start:
        print(json.dumps(start_once(arguments)))
        return
    rows, failures = [], []
    result = {
        "bench": "startup", "config": arguments.config, **about_this_run(arguments.device), "rows": rows,
        "failures": failures,
    }  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="mini-llm-caches-") as caches:
        for kind in ("cold", "warm"):
            try:
                rows.append({"start": kind} | in_a_process(arguments, caches))
                keep(result, arguments)
            except (RuntimeError, ValueError, IndexError) as error:
                failures.append(f"{kind}: {error}")
                break
    headings = {
        "start": "start", "start_s": "engine s", "compile_s": "compile s", "capture_s": "capture s",
        "captured_gib": "graphs GiB", "reserved_gib": "set aside GiB", "process_s": "process s",
    }  # fmt: skip
    print_table(rows, headings)
    share = rows[1]["compile_s"] / rows[0]["compile_s"] if len(rows) == 2 and rows[0]["compile_s"] else None
    if share is not None:
        print(f"a warm compile takes {share:.2f} of a cold one")
    finish(result | {"warm_share_of_cold": share}, arguments)


if __name__ == "__main__":
    main()
