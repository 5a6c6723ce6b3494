"""One budget of memory, three ways to spend it: full graphs, graphs of pieces, and blocks of the KV cache.

More blocks let more requests run at once, so that a step gives more tokens. More graphs let more steps run fast, and
with less padding. A plan is a dict: "full" and "piecewise" are ascending lists of captured sizes in tokens, "blocks"
is a number. All times are in ms, all memory is in MiB. No torch.

A machine is a dict of numbers: "full_ms", "piecewise_ms" and "eager_ms", what a step of each mode costs, and
"row_ms", what each row adds; "full_mib" and "piecewise_mib", what each graph holds; "row_mib", what the pool of
all graphs holds for each row of the largest; "block_mib" and "block_size" (tokens); and "sizes", those that may
be captured, ascending.

A demand is (requests, prompt_tokens, context, weight): so many requests want to run at once, each with `context`
tokens in the cache, while so many tokens of prompts ride along in every step (0: a uniform decode batch). `weight` is
how many tokens are generated under this demand. A workload is a list of demands.
"""

from collections.abc import Sequence

from mini_llm.buckets import pad_to

Demand = tuple[int, int, int, int]


def plan_memory(plan: dict, machine: dict) -> float:
    """The MiB that a plan takes: its graphs, the pool that they share, its blocks."""
    full, piecewise = plan["full"], plan["piecewise"]
    graphs = len(full) * machine["full_mib"] + len(piecewise) * machine["piecewise_mib"]
    pool = max([0, *full, *piecewise]) * machine["row_mib"]
    return graphs + pool + plan["blocks"] * machine["block_mib"]


def plan_cost(plan: dict, workload: Sequence[Demand], machine: dict) -> float:
    """Mean ms per generated token, demands weighted. ValueError when a demand cannot run even one request."""
    total = 0.0
    for rows, uniform, tokens_per_step, weight in _running(plan["blocks"], workload, machine):
        total += weight * _step_ms(rows, uniform, plan, machine) / tokens_per_step
    return total / sum(weight for *_, weight in workload)


def best_plan(workload: Sequence[Demand], machine: dict, budget: float) -> dict:
    """The plan of smallest mean cost that takes at most `budget` MiB. ValueError when none lets every demand run.

    For each number of blocks that lets one request more run, the steps are known; what is left goes into two ladders,
    each chosen by the table of `best_sizes`. Full graphs serve decode batches up to their largest size.
    """
    best_cost, best = None, None
    for blocks in _block_counts(workload, machine):
        left = budget - blocks * machine["block_mib"]
        if left < 0:
            break
        steps = [
            (rows, uniform, weight / tokens) for rows, uniform, tokens, weight in _running(blocks, workload, machine)
        ]
        decode = [(rows, share) for rows, uniform, share in steps if uniform]
        rest_of: dict[int, list] = {}  # by the largest full graph: the ladders for what it leaves
        for (count, top), (full_cost, full) in _ladders(decode, "full_ms", machine).items():
            if top not in rest_of:
                rest = [(rows, share) for rows, uniform, share in steps if not uniform or rows > top]
                rest_of[top] = [
                    (pieces, number, last, cost + _eager(rest, last, machine))
                    for (number, last), (cost, pieces) in _ladders(rest, "piecewise_ms", machine).items()
                ]
            for pieces, number, last, cost in rest_of[top]:
                graphs = count * machine["full_mib"] + number * machine["piecewise_mib"]
                fits = graphs + max(top, last) * machine["row_mib"] <= left
                if fits and (best_cost is None or full_cost + cost < best_cost):
                    best_cost, best = full_cost + cost, {"full": full, "piecewise": pieces, "blocks": blocks}
    if best is None:
        raise ValueError(f"{budget} MiB do not hold the blocks of one request of each demand")
    return best


def _blocks_per_request(context: int, machine: dict) -> int:
    return -(-context // machine["block_size"])


def _running(blocks: int, workload: Sequence[Demand], machine: dict) -> list[tuple[int, bool, int, int]]:
    """(rows, uniform, tokens it generates, weight) of each demand's steps, with as many requests as fit."""
    steps = []
    for requests, prompt_tokens, context, weight in workload:
        fit = (blocks - 1) // _blocks_per_request(context, machine)  # block 0 is the null block
        running = min(requests, fit)
        if running < 1:
            raise ValueError(f"{blocks} blocks hold no request with a context of {context} tokens")
        steps.append((running + prompt_tokens, not prompt_tokens, running, weight))
    return steps


def _step_ms(rows: int, uniform: bool, plan: dict, machine: dict) -> float:
    if uniform and (size := pad_to(rows, plan["full"])) is not None:
        return machine["full_ms"] + size * machine["row_ms"]
    if (size := pad_to(rows, plan["piecewise"])) is not None:
        return machine["piecewise_ms"] + size * machine["row_ms"]
    return machine["eager_ms"] + rows * machine["row_ms"]


def _block_counts(workload: Sequence[Demand], machine: dict) -> list[int]:
    """Every number of blocks at which one request more can run, ascending, from where each demand has one."""
    counts, least = set(), 0
    for requests, _, context, _ in workload:
        each = _blocks_per_request(context, machine)
        counts |= {1 + each * n for n in range(1, requests + 1)}
        least = max(least, 1 + each)
    return sorted(n for n in counts if n >= least)


def _ladders(steps: Sequence[tuple[int, float]], kind: str, machine: dict) -> dict:
    """{(number of sizes, largest): (cost, sizes)}, the cheapest ladder of each kind for the steps that it holds."""
    best = {(0, 0): (0.0, [])}
    for i, size in enumerate(machine["sizes"]):
        step_ms = machine[kind] + size * machine["row_ms"]
        for number in range(i + 1):
            options = [
                (cost + step_ms * sum(share for rows, share in steps if last < rows <= size), [*sizes, size])
                for (known, last), (cost, sizes) in best.items()
                if known == number and last < size
            ]
            if options:
                best[number + 1, size] = min(options)
    return best


def _eager(steps: Sequence[tuple[int, float]], top: int, machine: dict) -> float:
    return sum(share * (machine["eager_ms"] + rows * machine["row_ms"]) for rows, share in steps if rows > top)
