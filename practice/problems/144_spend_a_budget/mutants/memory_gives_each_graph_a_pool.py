# verdict: wrong answer
# diagnosis: each graph was given memory for its own rows; all share one pool, as large as the largest needs
def plan_memory(plan, machine):
    full, piecewise = plan["full"], plan["piecewise"]
    graphs = len(full) * machine["full_mib"] + len(piecewise) * machine["piecewise_mib"]
    pool = sum([*full, *piecewise]) * machine["row_mib"]
    return graphs + pool + plan["blocks"] * machine["block_mib"]
