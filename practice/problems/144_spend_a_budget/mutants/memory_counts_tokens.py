# verdict: wrong answer
# diagnosis: block_mib is for a block, not for a token of it
def plan_memory(plan, machine):
    full, piecewise = plan["full"], plan["piecewise"]
    graphs = len(full) * machine["full_mib"] + len(piecewise) * machine["piecewise_mib"]
    pool = max([0, *full, *piecewise]) * machine["row_mib"]
    return graphs + pool + plan["blocks"] * machine["block_mib"] * machine["block_size"]
