"""What a replay costs the CPU, by the number of kernels in the graph: python bench/replay_cost.py

Each graph is a chain of additions to one small tensor. `CPU` is how long `replay()` keeps Python; `GPU` is how
long the kernels take, replays back to back. Beside them, what the same kernels cost when launched one by one.
On a CPU the tape replays, and what is timed is the tape.
"""

import argparse
import statistics
import time

import torch
from measure import about_this_run, add_common, attempt, finish, print_table, synchronize, time_ms

from mini_llm import capture

NODES = [1, 10, 100, 1000, 4000]


def cost(nodes: int, device, replays: int) -> dict:
    x = torch.zeros(1, device=device)

    def chain(x):
        for _ in range(nodes):
            x.add_(1)

    graph = capture(chain, x)
    return {
        "nodes": nodes,
        "cpu_us": on_the_cpu(graph.replay, device, replays),
        "gpu_us": 1000 * time_ms(graph.replay, device, 50.0) if torch.device(device).type == "cuda" else None,
        "eager_us": on_the_cpu(lambda: chain(x), device, 3),
    }


def on_the_cpu(fn, device, times: int) -> float:
    """µs until fn() returns, while the device has nothing else to do."""
    taken = []
    for _ in range(times + 2):
        synchronize(device)
        start = time.perf_counter()
        fn()
        taken.append(1e6 * (time.perf_counter() - start))
    return statistics.median(taken[2:])


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_common(parser)
    parser.add_argument("--nodes", type=int, nargs="+", default=NODES)
    parser.add_argument("--replays", type=int, default=100)
    arguments = parser.parse_args(argv)
    failures: list[str] = []
    rows = []
    for nodes in arguments.nodes:
        rows.append(attempt(f"{nodes} nodes", lambda n=nodes: cost(n, arguments.device, arguments.replays), failures))
    rows = [row for row in rows if row]
    headings = {"nodes": "nodes", "cpu_us": "CPU us", "gpu_us": "GPU us", "eager_us": "eager, CPU us"}
    print_table(rows, headings)
    finish({"bench": "replay_cost", **about_this_run(arguments.device), "rows": rows, "failures": failures}, arguments)


if __name__ == "__main__":
    main()
