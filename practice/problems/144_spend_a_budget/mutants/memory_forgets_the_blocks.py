# verdict: wrong answer
# diagnosis: the blocks are missing
def plan_memory(plan, machine):
    full, piecewise = plan["full"], plan["piecewise"]
    graphs = len(full) * machine["full_mib"] + len(piecewise) * machine["piecewise_mib"]
    pool = max([0, *full, *piecewise]) * machine["row_mib"]
    return graphs + pool
