# verdict: wrong answer
# diagnosis: all that the graphs left went into blocks; one request more may need a larger graph, so leave memory where nothing is gained
def best_plan(workload, machine, budget):
    best_cost, best = None, None
    counts = _block_counts(workload, machine)
    for blocks, more in zip(counts, [*counts[1:], float("inf")]):
        left, less = budget - blocks * machine["block_mib"], budget - more * machine["block_mib"]
        if left < 0:
            break
        steps = [(rows, uniform, weight / n) for rows, uniform, n, weight in _running(blocks, workload, machine)]
        decode = [(rows, share) for rows, uniform, share in steps if uniform]
        for (count, top), (full_cost, full) in _ladders(decode, "full_ms", machine).items():
            rest = [(rows, share) for rows, uniform, share in steps if not uniform or rows > top]
            for (number, last), (cost, pieces) in _ladders(rest, "piecewise_ms", machine).items():
                cost += full_cost + _eager(rest, last, machine)
                graphs = count * machine["full_mib"] + number * machine["piecewise_mib"]
                fills = less < graphs + max(top, last) * machine["row_mib"] <= left
                if fills and (best_cost is None or cost < best_cost):
                    best_cost, best = cost, {"full": full, "piecewise": pieces, "blocks": blocks}
    return best
