"""Another way: all lists of the few sizes that can matter, and a plan that is not quite the best."""

from itertools import combinations
from math import ceil


def plan_memory(plan, machine):
    memory = plan["blocks"] * machine["block_mib"]
    memory += len(plan["full"]) * machine["full_mib"]
    memory += len(plan["piecewise"]) * machine["piecewise_mib"]
    if plan["full"] or plan["piecewise"]:
        memory += machine["row_mib"] * max(plan["full"] + plan["piecewise"])
    return memory


def rows_and_requests(blocks, demand, machine):
    requests, prompt_tokens, context, _ = demand
    running = min((blocks - 1) // ceil(context / machine["block_size"]), requests)
    if running <= 0:
        raise ValueError(f"context {context} does not fit")
    return running + prompt_tokens, running


def step(rows, sizes, first_ms, machine):
    size = min((s for s in sizes if s >= rows), default=None)
    return None if size is None else first_ms + size * machine["row_ms"]


def plan_cost(plan, workload, machine):
    time = tokens = 0.0
    for demand in workload:
        rows, running = rows_and_requests(plan["blocks"], demand, machine)
        ms = None if demand[1] else step(rows, plan["full"], machine["full_ms"], machine)
        ms = ms or step(rows, plan["piecewise"], machine["piecewise_ms"], machine)
        ms = ms or machine["eager_ms"] + rows * machine["row_ms"]
        time += demand[3] * ms / running
        tokens += demand[3]
    return time / tokens


def lists(sizes):
    return [list(chosen) for n in range(len(sizes) + 1) for chosen in combinations(sizes, n)]


def best_plan(workload, machine, budget):
    """Only sizes that some step pads to can help, so there are few lists. Takes no plan that is 4% better or less."""
    best, seen = None, None
    for blocks in range(2, int(budget / machine["block_mib"]) + 1):
        try:
            steps = [rows_and_requests(blocks, demand, machine) for demand in workload]
        except ValueError:
            continue
        if steps == seen:
            continue
        seen = steps
        needed = sorted({s for rows, _ in steps for s in machine["sizes"] if s >= rows and s - rows == min(
            other - rows for other in machine["sizes"] if other >= rows)})  # fmt: skip
        for full in lists(needed):
            for piecewise in lists(needed):
                plan = {"full": full, "piecewise": piecewise, "blocks": blocks}
                if plan_memory(plan, machine) <= budget:
                    cost = plan_cost(plan, workload, machine)
                    if best is None or cost * 1.04 < best[0]:
                        best = cost, plan
    return best[1]
