"""Every set of sizes is tried, for every number of blocks; and plans of common mistakes, which must be far off.

Lives in the judge's process only.
"""

from __future__ import annotations

import math
from itertools import combinations

ENOUGH = 1.05  # times the best cost: what is accepted

# NVIDIA H200, Qwen3-0.6B, course/recorded/h200_decode.json (times) and by arithmetic; a graph's memory is an assumption
H200 = {
    "full_ms": 1.2,
    "piecewise_ms": 3.7,
    "eager_ms": 37.0,
    "row_ms": 0.005,
    "full_mib": 12.0,
    "piecewise_mib": 8.0,
    "row_mib": 0.6,
    "block_mib": 1.75,
    "block_size": 16,
    "sizes": [1, 2, 4, 8, 16, 32, 64, 128],
}


def plan_memory(plan, machine):
    pieces = [machine["block_mib"]] * plan["blocks"]
    pieces += [machine["full_mib"] for _ in plan["full"]] + [machine["piecewise_mib"] for _ in plan["piecewise"]]
    every = plan["full"] + plan["piecewise"]
    return math.fsum(pieces) + (machine["row_mib"] * sorted(every)[-1] if every else 0)


def running(blocks, demand, machine):
    """How many requests of this demand run: one more as long as the blocks of all of them, and the null block, fit."""
    requests, _, context, _ = demand
    each = math.ceil(context / machine["block_size"])
    return len([n for n in range(1, requests + 1) if 1 + n * each <= blocks])


def step_ms(rows, uniform, full, piecewise, machine):
    for name, sizes in (("full", full), ("piecewise", piecewise)):
        fitting = [size for size in sizes if size >= rows]
        if fitting and (uniform or name == "piecewise"):
            return machine[f"{name}_ms"] + machine["row_ms"] * min(fitting)
    return machine["eager_ms"] + machine["row_ms"] * rows


def plan_cost(plan, workload, machine):
    tokens = ms = 0
    for demand in workload:
        n = running(plan["blocks"], demand, machine)
        if not n:
            raise ValueError(f"no request with a context of {demand[2]} fits")
        tokens += demand[3]
        ms += demand[3] / n * step_ms(n + demand[1], demand[1] == 0, plan["full"], plan["piecewise"], machine)
    return ms / tokens


def ladders(steps, base_ms, machine, uniform):
    """(number, largest, cost of the steps up to it, sizes) of the cheapest set of sizes for each number and largest."""
    best = {(0, 0): (0.0, [])}
    for number in range(1, len(machine["sizes"]) + 1):
        for sizes in combinations(machine["sizes"], number):
            cost = 0.0
            for rows, share in steps:
                if rows <= sizes[-1]:
                    cost += share * (base_ms + machine["row_ms"] * next(s for s in sizes if s >= rows))
            kept = best.get((number, sizes[-1]))
            if kept is None or cost < kept[0]:
                best[number, sizes[-1]] = (cost, list(sizes))
    return [(number, top, *found) for (number, top), found in best.items()]


def best_for(blocks, workload, machine, budget):
    """(mean cost, plan) of the best graphs beside so many blocks; None when these are too many or too few."""
    left = budget - blocks * machine["block_mib"]
    counts = [running(blocks, demand, machine) for demand in workload]
    if left < 0 or 0 in counts:
        return None
    steps = [(n + d[1], d[1] == 0, d[3] / n) for n, d in zip(counts, workload, strict=True)]
    best, rests = None, {}
    for number, top, cost, full in ladders([s[::2] for s in steps if s[1]], machine["full_ms"], machine, True):
        if top not in rests:
            others = [(rows, share) for rows, uniform, share in steps if not uniform or rows > top]
            rests[top] = [
                (n, last, held + sum(share * (machine["eager_ms"] + machine["row_ms"] * rows)
                                     for rows, share in others if rows > last), sizes)
                for n, last, held, sizes in ladders(others, machine["piecewise_ms"], machine, False)
            ]  # fmt: skip
        for n, last, more, piecewise in rests[top]:
            memory = number * machine["full_mib"] + n * machine["piecewise_mib"] + max(top, last) * machine["row_mib"]
            if memory <= left and (best is None or cost + more < best[0]):
                best = cost + more, {"full": full, "piecewise": piecewise, "blocks": blocks}
    return best and (best[0] / sum(d[3] for d in workload), best[1])


def counts(workload, machine):
    """Every number of blocks at which one more request of some demand can run, ascending."""
    each = [(requests, math.ceil(context / machine["block_size"])) for requests, _, context, _ in workload]
    return sorted({1 + n * blocks for requests, blocks in each for n in range(1, requests + 1)})


_known: dict[str, tuple] = {}  # the best of an input is asked for several times


def best(workload, machine, budget):
    """(mean cost, plan), the best there is."""
    key = repr((workload, machine, budget))
    if key not in _known:
        found = [best_for(blocks, workload, machine, budget) for blocks in counts(workload, machine)]
        _known[key] = min((f for f in found if f), key=lambda f: f[0])
    return _known[key]


def best_plan(workload, machine, budget):
    return best(workload, machine, budget)[1]


def judge_plan(plan, workload, machine, budget):
    """None when a plan is valid, affordable and within 5% of the best; otherwise what is wrong with it."""
    if type(plan) is not dict or set(plan) != {"full", "piecewise", "blocks"}:
        return "a plan is a dict with the keys 'full', 'piecewise' and 'blocks'"
    for name in ("full", "piecewise"):
        sizes = plan[name]
        if type(sizes) is not list or any(type(size) is not int for size in sizes):
            return f"'{name}' is a list of whole numbers"
        if sizes != sorted(set(sizes)):
            return f"'{name}' is in ascending order, each size once"
        if wrong := [size for size in sizes if size not in machine["sizes"]]:
            return f"'{name}' holds {wrong[0]}, which is none of the machine's sizes"
    if type(plan["blocks"]) is not int or abs(plan["blocks"]) > 10**9:
        return "'blocks' is a whole number"
    need = plan_memory(plan, machine)
    if need > budget + 1e-9:
        return f"the plan takes {need:.5g} MiB, and the budget is {budget:.5g}"
    for demand in workload:
        if not running(plan["blocks"], demand, machine):
            return f"no request with a context of {demand[2]} tokens can run in {plan['blocks']} blocks"
    cost, (least, known) = plan_cost(plan, workload, machine), best(workload, machine, budget)
    if cost <= ENOUGH * least:
        return None
    return (
        f"the mean cost is {cost:.4g} ms per token; {least:.4g} is possible, and 5% more would be accepted. For each "
        f"demand, yours runs {steps(plan, workload, machine)}; the plan above {steps(known, workload, machine)}"
    )


def steps(plan, workload, machine):
    """What runs of each demand, and in which graph, as people say it."""
    said = []
    for demand in workload:
        n = running(plan["blocks"], demand, machine)
        graph = "eagerly"
        for name in ("piecewise", "full")[: 1 if demand[1] else 2]:
            graph = next((f"in {name} {size}" for size in plan[name] if size >= n + demand[1]), graph)
        said.append(f"{n}{f' and {demand[1]} prompt tokens' if demand[1] else ''} {graph}")
    return ", ".join(said)


# -- plans of common mistakes, each for inputs in which it is far off -------------------------------------------------


def most_blocks(workload, machine, budget, full, piecewise):
    """These graphs, and blocks for the rest, as many as can be used; None when not every demand runs."""
    plan = {"full": full, "piecewise": piecewise, "blocks": 0}
    fit = int((budget - plan_memory(plan, machine)) // machine["block_mib"])
    plan["blocks"] = max([n for n in counts(workload, machine) if n <= fit], default=0)
    return plan if all(running(plan["blocks"], demand, machine) for demand in workload) else None


def graphs_first(workload, machine, budget):
    return most_blocks(workload, machine, budget, machine["sizes"], machine["sizes"])


def blocks_first(workload, machine, budget):
    blocks = most_blocks(workload, machine, budget, [], [])["blocks"]
    return best_for(blocks, workload, machine, budget)[1]


def full_only(workload, machine, budget):
    return best(workload, machine | {"piecewise_mib": 10**9}, budget)[1]


def piecewise_only(workload, machine, budget):
    return best(workload, machine | {"full_mib": 10**9}, budget)[1]


def for_equal_weights(workload, machine, budget):
    return best([(*demand[:3], 1) for demand in workload], machine, budget)[1]


def for_short_steps(workload, machine, budget):
    """The smallest mean time of a step, whatever it generates."""
    plans = [best_for(blocks, workload, machine, budget) for blocks in counts(workload, machine)]

    def mean(found):
        total = 0
        for demand in workload:
            n = running(found[1]["blocks"], demand, machine)
            total += demand[3] * step_ms(
                n + demand[1], demand[1] == 0, found[1]["full"], found[1]["piecewise"], machine
            )
        return total

    return min((f for f in plans if f), key=mean)[1]


def for_what_is_asked(workload, machine, budget):
    """Sizes for the requests that want to run, beside as many blocks as are left, although fewer can run."""
    wide = machine | {"block_mib": 0.0}
    _, plan = best(workload, wide, budget / 2)
    return most_blocks(workload, machine, budget, plan["full"], plan["piecewise"])
