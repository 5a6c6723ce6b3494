# verdict: wrong answer
# diagnosis: the cheapest of the modes was taken; a step does not choose: full graphs come first, then pieces, then eager
def plan_cost(plan, workload, machine):
    total = weights = 0
    for requests, prompt_tokens, context, weight in workload:
        each = -(-context // machine["block_size"])
        n = min(requests, (plan["blocks"] - 1) // each)
        if n < 1:
            raise ValueError(f"no request with a context of {context} fits")
        rows = n + prompt_tokens
        ways = [machine["eager_ms"] + machine["row_ms"] * rows]
        for name in ("full", "piecewise"):
            size = pad_to(rows, plan[name])
            if size is not None and (name == "piecewise" or not prompt_tokens):
                ways.append(machine[f"{name}_ms"] + machine["row_ms"] * size)
        total, weights = total + weight * min(ways) / n, weights + weight
    return total / weights
