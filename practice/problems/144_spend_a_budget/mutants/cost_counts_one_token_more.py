# verdict: wrong answer
# diagnosis: a token was added to each context; this step's token is in it already
def plan_cost(plan, workload, machine):
    total = weights = 0
    for requests, prompt_tokens, context, weight in workload:
        each = -(-(context + 1) // machine["block_size"])
        n = min(requests, (plan["blocks"] - 1) // each)
        if n < 1:
            raise ValueError(f"no request with a context of {context} fits")
        rows = n + prompt_tokens
        full, pieces = pad_to(rows, plan["full"]), pad_to(rows, plan["piecewise"])
        if not prompt_tokens and full is not None:
            ms = machine["full_ms"] + machine["row_ms"] * full
        elif pieces is not None:
            ms = machine["piecewise_ms"] + machine["row_ms"] * pieces
        else:
            ms = machine["eager_ms"] + machine["row_ms"] * rows
        total, weights = total + weight * ms / n, weights + weight
    return total / weights
