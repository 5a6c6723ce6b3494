# verdict: wrong answer
# diagnosis: the pool of the graphs is missing: row_mib for each row of the largest
def plan_memory(plan, machine):
    full, piecewise = plan["full"], plan["piecewise"]
    graphs = len(full) * machine["full_mib"] + len(piecewise) * machine["piecewise_mib"]
    pool = max([0, *full, *piecewise]) * machine["row_mib"]
    return graphs + plan["blocks"] * machine["block_mib"]
